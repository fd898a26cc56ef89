//! Answers are replayed as they were recorded.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ephor_recording::{Player, Question, RecordedBody, RecordedFailure, Recording, Replayed};

struct Recorded {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn recorded(work: impl FnOnce(&Recording)) -> Recorded {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let recording = Recording::create(&path, Duration::from_secs(1_700_000_000), 7).unwrap();
    work(&recording);
    if let Recording::Records(recorder) = &recording {
        recorder.finish().unwrap();
    }
    Recorded { _folder: folder, path }
}

fn record(recording: &Recording, question: &Question<'_>, status: u16, body: &[u8]) {
    let Recording::Records(recorder) = recording else { panic!("a recording that grows") };
    let answer = recorder.answer(question, status, vec![("content-type".into(), "text/plain".into())]);
    let mut read = Vec::new();
    RecordedBody::new(body, answer, |_| false).read_to_end(&mut read).unwrap();
    assert_eq!(read, body);
}

fn player(path: &Path) -> Arc<Player> {
    match Recording::open(path).unwrap() {
        Recording::Replays(player) => player,
        Recording::Records(_) => panic!("a recording that answers"),
    }
}

fn given(player: &Arc<Player>, question: &Question<'_>) -> (u16, Vec<u8>) {
    match player.play(question) {
        Replayed::Answer { status, mut body, .. } => {
            let mut bytes = Vec::new();
            body.read_to_end(&mut bytes).unwrap();
            (status, bytes)
        }
        Replayed::Failure { failure, .. } => panic!("{}", failure.text),
        Replayed::Result(text) => panic!("{text}"),
    }
}

#[test]
fn answers_come_in_their_order_and_the_last_one_stays() {
    let question = Question::new("GET", "http://host/a");
    let large: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    let run = recorded(|recording| {
        record(recording, &question, 503, b"later");
        record(recording, &question, 200, &large);
    });
    let player = player(&run.path);
    assert!(player.is_whole());
    assert_eq!(given(&player, &question), (503, b"later".to_vec()));
    assert_eq!(given(&player, &question), (200, large.clone()));
    assert_eq!(given(&player, &question), (200, large));
    assert_eq!(Recording::Replays(player).beginning(), (Duration::from_secs(1_700_000_000), 7));
}

#[test]
fn what_is_not_in_a_recording_is_named() {
    let run = recorded(|recording| record(recording, &Question::new("GET", "http://host/a"), 200, b""));
    let player = player(&run.path);
    let Replayed::Failure { failure: RecordedFailure { text, .. }, is_missing: true } =
        player.play(&Question::new("GET", "http://host/b"))
    else {
        panic!("an answer")
    };
    assert!(text.ends_with("holds no answer to GET http://host/b"), "{text}");
    assert_eq!(player.all_missing(), ["GET http://host/b"]);
}

#[test]
fn failures_results_and_bodies_that_break_are_given_again() {
    let (down, work, cut) = (
        Question::new("GET", "http://down"),
        Question::new("CLONE", "x"),
        Question::new("GET", "http://cut"),
    );
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("reset"))
        }
    }
    let no_host = RecordedFailure {
        text: "no such host".into(),
        unknown_host: Some("down".into()),
        ..RecordedFailure::default()
    };
    let run = recorded(|recording| {
        let Recording::Records(recorder) = recording else { panic!("a recording that grows") };
        recorder.failure(&down, no_host.clone());
        let done: Result<String, String> = recording.result(&work, || Ok("files".into()), |text| text);
        assert_eq!(done, Ok("files".into()));
        let answer = recorder.answer(&cut, 200, Vec::new());
        RecordedBody::new(Broken, answer, |_| false).read_to_end(&mut Vec::new()).unwrap_err();
    });
    let player = player(&run.path);
    match player.play(&down) {
        Replayed::Failure { failure, is_missing: false } => assert_eq!(failure, no_host),
        _ => panic!("another answer"),
    }
    let again: Result<String, String> =
        Recording::Replays(player.clone()).result(&work, || panic!("no work"), |text| text);
    assert_eq!(again, Ok("files".into()));
    let Replayed::Answer { mut body, .. } = player.play(&cut) else { panic!("no answer") };
    assert_eq!(body.read_to_end(&mut Vec::new()).unwrap_err().to_string(), "reset");
}

#[test]
fn a_file_that_is_cut_off_answers_what_it_holds_and_says_so() {
    let question = Question::new("GET", "http://host/a");
    let run = recorded(|recording| record(recording, &question, 200, b"whole"));
    let text = std::fs::read_to_string(&run.path).unwrap();
    std::fs::write(&run.path, &text[..text.len() - 10]).unwrap();
    let player = player(&run.path);
    assert!(!player.is_whole());
    assert_eq!(given(&player, &question), (200, b"whole".to_vec()));
}

#[test]
fn what_is_no_recording_is_an_error_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let text = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let error = Recording::open(&path).map(|_| ()).unwrap_err().to_string();
        error.replace(&*path.display().to_string(), "x")
    };
    let begins = |version: u32| format!(r#"{{"begins":{{"version":{version},"nanoseconds":"1","seed":1}}}}"#);
    let none =
        "x:1: this is no recording: `ephor apply --record FILE` and `ephor serve --record FILE` write one";
    assert_eq!(text(""), none);
    assert_eq!(text("kind: Pod\n"), none);
    assert_eq!(text(r#"{"ends":{"questions":1}}"#), none);
    assert_eq!(text(&begins(9)), "x:1: a recording of version 9: this program reads version 1");
    let second = |line: &str| text(&format!("{}\n{line}\n", begins(1)));
    assert_eq!(
        second(r#"{"part":{"of":4,"bytes":{"text":""}}}"#),
        "x:2: this is no line of a recording: no answer has this number"
    );
    assert!(second("{").starts_with("x:2: this is no line of a recording: "));
    assert!(second(r#"{"other":{}}"#).contains("unknown variant `other`"));
}

#[test]
#[cfg(unix)]
fn only_its_owner_reads_a_recording() {
    use std::os::unix::fs::PermissionsExt as _;
    let run = recorded(|_| {});
    assert_eq!(std::fs::metadata(&run.path).unwrap().permissions().mode() & 0o777, 0o600);
}
