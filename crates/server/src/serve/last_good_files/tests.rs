use std::path::Path;

use crate::serve::last_good_files::*;
use ephor_sources::files::served_policies;

/// Files in a folder, read at times of our own. A line of a file is a policy, `!` is one that
/// cannot be read.
struct Folder {
    dir: tempfile::TempDir,
    retained: LastGoodFiles<Vec<String>>,
    began: Instant,
    established: bool,
}

fn parse(source: &SourceText) -> Parsed<Vec<String>> {
    let lines = || source.text.lines().filter(|l| !l.starts_with('#')).map(String::from);
    Parsed {
        gives: lines().filter(|l| l != "!").collect(),
        problems: lines().filter(|l| l == "!").collect(),
        broken: Vec::new(),
        fail_closed: true,
        names: lines().collect(),
        is_empty: lines().next().is_none(),
    }
}

impl Folder {
    fn new(files: &[(&str, &str)]) -> Folder {
        let dir = tempfile::tempdir().expect("a folder");
        let folder =
            Folder { dir, retained: LastGoodFiles::default(), began: Instant::now(), established: false };
        files.iter().for_each(|(name, text)| folder.write(name, text));
        folder
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("a file");
    }

    fn remove(&self, name: &str) {
        std::fs::remove_file(self.path(name)).expect("a file");
    }

    /// What is in use after this many seconds.
    fn after(&mut self, seconds: u64) -> String {
        self.read(seconds).0
    }

    fn read(&mut self, seconds: u64) -> (String, Current<Vec<String>>) {
        let place = self.dir.path().display().to_string();
        let read = [(place.clone(), served_policies(&[&place]))];
        let now = self.began + Duration::from_secs(seconds);
        let current = self.retained.update(&read, self.established, now, parse);
        self.established |= current.lost.is_empty();
        let all: Vec<String> = current.gives.iter().flat_map(|g| g.iter().cloned()).collect();
        (all.join(" "), current)
    }
}

#[test]
fn a_changed_file_is_used_when_it_has_stayed_the_same_for_a_while() {
    let mut folder = Folder::new(&[("a.yaml", "a\nb")]);
    assert_eq!(folder.after(0), "a b");
    folder.write("a.yaml", "a\nb\nc");
    let (all, current) = folder.read(10);
    assert_eq!((&*all, current.again), ("a b", Some(SETTLE)));
    folder.write("a.yaml", "a\nb\nc\nd");
    assert_eq!(folder.after(11), "a b");
    assert_eq!(folder.after(12), "a b");
    assert_eq!(folder.after(13), "a b c d");
    assert_eq!(folder.read(14).1.again, None);
}

#[test]
fn a_file_that_gives_less_is_used_when_it_has_stayed_so_for_longer() {
    let mut folder = Folder::new(&[("a.yaml", "a\nb")]);
    folder.after(0);
    folder.write("a.yaml", "a");
    assert_eq!(folder.after(10), "a b");
    assert_eq!(folder.after(19), "a b");
    assert_eq!(folder.after(20), "a");
}

#[test]
fn what_moves_to_another_file_does_not_wait_and_is_not_used_twice() {
    let mut folder = Folder::new(&[("a.yaml", "a\nb"), ("c.yaml", "c")]);
    folder.after(0);
    folder.write("a.yaml", "a");
    folder.write("b.yaml", "b");
    std::fs::rename(folder.path("c.yaml"), folder.path("d.yaml")).expect("a file");
    assert_eq!(folder.after(10), "a b c");
    assert_eq!(folder.after(12), "a b c");
    assert_eq!(folder.after(13), "a b c");
}

#[test]
fn an_emptied_file_and_one_that_cannot_be_read_keep_what_they_gave() {
    for text in ["", "# nothing\n", "!", "a\n!"] {
        let mut folder = Folder::new(&[("a.yaml", "a"), ("b.yaml", "b")]);
        folder.after(0);
        folder.write("a.yaml", text);
        folder.after(1);
        for seconds in [3, 20, 1000] {
            let (all, current) = folder.read(seconds);
            assert_eq!(all, "a b", "{text}");
            assert_eq!(current.problems.len(), 1, "{text}: {:?}", current.problems);
            assert!(current.lost.is_empty());
        }
        folder.write("a.yaml", "c\na");
        folder.after(1001);
        assert_eq!(folder.after(1003), "c a b");
    }
}

#[test]
fn a_removed_file_is_given_up_and_a_folder_without_files_is_not() {
    let mut folder = Folder::new(&[("a.yaml", "a"), ("b.yaml", "b")]);
    folder.after(0);
    folder.remove("a.yaml");
    assert_eq!(folder.after(1), "b a");
    assert_eq!(folder.after(10), "b a");
    assert_eq!(folder.after(11), "b");
    folder.remove("b.yaml");
    for seconds in [12, 1000] {
        let (all, current) = folder.read(seconds);
        assert_eq!(all, "b");
        assert!(
            current.problems.iter().any(|p| p.contains("holds no file any more")),
            "{:?}",
            current.problems
        );
    }
    folder.write("c.yaml", "c");
    folder.after(1001);
    assert_eq!(folder.after(1003), "c b");
    assert_eq!(folder.after(1013), "c");
}

#[test]
fn what_was_never_usable_is_lost_until_it_is() {
    let mut folder = Folder::new(&[("a.yaml", "a\n!")]);
    let (all, current) = folder.read(0);
    assert_eq!((&*all, current.lost.len()), ("a", 1));
    folder.write("a.yaml", "a\nb");
    let (all, current) = folder.read(1);
    assert_eq!((&*all, current.lost.len()), ("a b", 0));
    folder.write("b.yaml", "c\n!");
    folder.after(2);
    let (all, current) = folder.read(4);
    assert_eq!((&*all, current.lost.len()), ("a b", 0));
    assert!(current.problems[0].contains("not in use"), "{:?}", current.problems);
}

#[cfg(unix)]
#[test]
fn what_is_no_regular_file_of_the_folder_is_never_read() {
    let outside = tempfile::tempdir().expect("a folder");
    std::fs::write(outside.path().join("x.yaml"), "x").expect("a file");
    let link =
        |to: &Path, folder: &Folder| std::os::unix::fs::symlink(to, folder.path("b.yaml")).expect("a link");
    let fifo = |folder: &Folder| {
        let made = std::process::Command::new("mkfifo").arg(folder.path("b.yaml")).status();
        assert!(made.expect("mkfifo").success());
    };
    let kinds: [&dyn Fn(&Folder); 6] = [
        &|f| link(Path::new("/dev/zero"), f),
        &|f| link(&outside.path().join("x.yaml"), f),
        &|f| link(Path::new("b.yaml"), f),
        &|f| link(outside.path(), f),
        &fifo,
        &|f| drop(std::os::unix::net::UnixListener::bind(f.path("b.yaml"))),
    ];
    for (i, make) in kinds.iter().enumerate() {
        let mut folder = Folder::new(&[("a.yaml", "a")]);
        make(&folder);
        let (all, current) = folder.read(0);
        assert_eq!((&*all, current.lost.len(), current.problems.len()), ("a", 1, 1), "{i}");
        // In the place of a file that could be read it changes nothing.
        let mut folder = Folder::new(&[("a.yaml", "a"), ("b.yaml", "b")]);
        folder.after(0);
        folder.remove("b.yaml");
        make(&folder);
        folder.after(1);
        let (all, current) = folder.read(100);
        assert_eq!((&*all, current.lost.len(), current.problems.len()), ("a b", 0, 1), "{i}");
    }
}

#[cfg(unix)]
#[test]
fn links_of_a_mounted_config_map_are_followed() {
    let folder_of = |name: &str, text: &str, folder: &Folder| {
        std::fs::create_dir(folder.path(name)).expect("a folder");
        std::fs::write(folder.path(name).join("a.yaml"), text).expect("a file");
    };
    let mut folder = Folder::new(&[]);
    let link = |to: &str, folder: &Folder, name: &str| {
        std::os::unix::fs::symlink(to, folder.path(name)).expect("a link");
    };
    folder_of("..1", "a", &folder);
    link("..1", &folder, "..data");
    link("..data/a.yaml", &folder, "a.yaml");
    let (all, current) = folder.read(0);
    assert_eq!((&*all, current.problems.len()), ("a", 0), "{:?}", current.problems);
    folder_of("..2", "a\nb", &folder);
    link("..2", &folder, "..new");
    std::fs::rename(folder.path("..new"), folder.path("..data")).expect("a link");
    folder.after(1);
    assert_eq!(folder.after(3), "a b");
}

#[test]
fn a_file_above_the_limit_is_not_read() {
    let mut folder = Folder::new(&[("a.yaml", "a")]);
    let file = std::fs::File::create(folder.path("b.yaml")).expect("a file");
    file.set_len(ephor_sources::files::served::MAX_FILE + 1).expect("a length");
    let (all, current) = folder.read(0);
    assert_eq!((&*all, current.lost.len()), ("a", 1));
    assert!(current.problems[0].ends_with("larger than 64 MiB"), "{:?}", current.problems);
}
