//! The pages of the policy library and the tables of `policies/README.md`, from the controls and
//! their tests.

use std::fmt::Write;

use ephor_document::{Duplicates, parse_stream};
use ephor_library::{Control, Form, GROUPS, Group, LibraryFile, controls};
use ephor_value::Value;

use super::cell;

/// The name of a group's page.
pub fn page_name(group: &Group) -> String {
    format!("library/{}.md", group.name)
}

fn forms(control: &Control) -> String {
    control.forms.iter().map(|(form, _)| form.name()).collect::<Vec<_>>().join(", ")
}

/// The page with all groups and controls.
pub fn index() -> String {
    let mut text = format!(
        "# The policy library\n\n\
         The program holds {} controls, nothing installed: `ephor policies list` shows them, `ephor apply --builtin NAME` checks manifests against a set, a group or\n\
         one of them, and where a command takes policies it takes `builtin://NAME` too. `ephor policies export` writes them as files.\n\
         [Adopt the library](../start/adopt.md) goes from the first report to a cluster that refuses what is new.\n\n\
         Each control has a ClusterPolicy (`classic`), Kyverno's kind in CEL (`cel`, unless another form is named) and Kubernetes' own policy (`native`), so far as\n\
         each can say it; `ephor diff` compares them in CI. All of them only report until they are exported with `--enforce`.\n\
         Standards are those that a control is part of: the CIS Kubernetes Benchmark (section numbers of 1.9), the NSA/CISA Kubernetes Hardening Guidance, PCI DSS 4.0.\n\
         Numbers, names of registries and labels are examples: adapt them to yours.\n\n\
         This page and those of the groups are generated from `policies/`.\n",
        controls().len(),
    );
    for group in GROUPS {
        let page = format!("{}.md", group.name);
        write!(text, "\n## [{}]({page})\n\n{}\n\n", group.title, group.about).unwrap();
        text.push_str("| control | severity | standards | title |\n|---|---|---|---|\n");
        for one in controls().iter().filter(|one| one.group == group.name) {
            let title = cell(&one.title);
            writeln!(
                text,
                "| [{}]({page}#{}) | {} | {} | {title} |",
                one.name,
                anchor(&one.title),
                one.severity,
                one.standards.join(", "),
            )
            .unwrap();
        }
    }
    text
}

fn anchor(title: &str) -> String {
    let letters = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    letters.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// The page of a group.
pub fn page(group: &Group) -> String {
    let mut text = format!(
        "# {}\n\n{}\nThis page is generated from `policies/{}`, its examples from the tests.\n",
        group.title, group.about, group.name,
    );
    for control in controls().iter().filter(|control| control.group == group.name) {
        write!(text, "\n## {}\n\n", control.title).unwrap();
        let standards = match control.standards.is_empty() {
            true => String::new(),
            false => format!(" Standards: {}.", control.standards.join(", ")),
        };
        write!(
            text,
            "`{}`, severity {}, about {}. Forms: {}.{standards}\n\n{}\n",
            control.name,
            control.severity,
            control.subject,
            forms(control),
            control.why,
        )
        .unwrap();
        text.push_str(&example(control));
    }
    text
}

/// What the control does with objects of its tests.
fn example(control: &Control) -> String {
    let results = results(control);
    let first = |status: &str| {
        let row = results.iter().find(|row| row.text_at(&["result"]) == status)?;
        Some((row, object(control, "resources.yaml", row.at(&["resources"])?.as_list()?.first()?.as_str()?)?))
    };
    let block = |object: &str| format!("```yaml\n{object}```\n");
    let fix = &control.fix;
    if control.group == "cleanup" {
        let (_, object) = first("pass").expect("an object that is deleted");
        return format!("\nIt deletes, for example:\n\n{}\nInstead: {fix}\n", block(object));
    }
    let Some((_, bad)) = first("fail") else {
        let (row, before) = first("pass").expect("an object that is changed");
        let name = row.at(&["resources"]).and_then(Value::as_list).and_then(|all| all.first());
        let name = name.and_then(Value::as_str).unwrap_or_default();
        return match row.text_at(&["generatedResource"]) {
            "" => {
                let after = object(control, row.text_at(&["patchedResources"]), name).expect("the result");
                format!("\nOf\n\n{}\nit makes\n\n{}\n{fix}\n", block(before), block(after))
            }
            file => {
                let made = file_of(control, file).expect("the generated object").text;
                format!("\nFor a {} it generates\n\n{}\n{fix}\n", row.text_at(&["kind"]), block(made))
            }
        };
    };
    let (_, good) = first("pass").expect("an object that passes");
    format!("\n{}\n\n{}\n{fix} This passes:\n\n{}", message(control), block(bad), block(good))
}

/// What a violation says.
fn message(control: &Control) -> String {
    let cel = control.form(Form::Cel).expect("a form in CEL");
    let document = documents(cel).into_iter().next().expect("a policy");
    let first = document.at(&["spec", "validations"]).and_then(Value::as_list).and_then(|all| all.first());
    let text = first.map(|one| one.text_at(&["message"]).to_owned()).expect("a message");
    format!("“{text}” is the report for")
}

fn documents(file: LibraryFile) -> Vec<Value> {
    let all = parse_stream(file.path, file.text, Duplicates::Error).expect("YAML");
    all.into_iter().map(|document| document.expect("YAML").value).collect()
}

fn file_of(control: &Control, name: &str) -> Option<LibraryFile> {
    control.tests.iter().find(|file| file.path.rsplit('/').next() == Some(name)).copied()
}

/// The expected results of the control's first test.
fn results(control: &Control) -> Vec<Value> {
    let file = file_of(control, "kyverno-test.yaml").expect("a test");
    let test = documents(file).into_iter().next().expect("a test");
    test.at(&["results"]).and_then(Value::as_list).expect("results").to_vec()
}

/// The text of an object in a file of the control's tests.
fn object(control: &Control, file: &str, name: &str) -> Option<&'static str> {
    let text = file_of(control, file)?.text;
    text.split("---\n").find(|part| part.contains(&format!("\n  name: {name}\n")))
}

/// `policies/README.md` with its tables.
pub fn readme(written: &str) -> String {
    const MARK: &str = "<!-- What follows is generated from the policies. -->\n";
    let (head, _) = written.split_once(MARK).expect("the mark in policies/README.md");
    let mut text = format!("{head}{MARK}");
    for group in GROUPS {
        write!(text, "\n## {}\n\n{}\n\n", group.title, group.about).unwrap();
        text.push_str("| policy | severity | forms | title |\n|---|---|---|---|\n");
        for one in controls().iter().filter(|one| one.group == group.name) {
            let Control { group, name, severity, title, .. } = one;
            writeln!(
                text,
                "| [{name}]({group}/{name}/{name}.yaml) | {severity} | {} | {title} |",
                forms(one)
            )
            .unwrap();
        }
    }
    text
}
