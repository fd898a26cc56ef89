//! Expressions whose steps are counted.

fn watched(text: &str) -> bool {
    let expr = ephor_jmespath::lower::lower(&ephor_jmespath::parse(text).unwrap());
    ephor_analysis::print::expression(&expr).text(&|_| String::new()).contains("call[bounded]")
}

#[test]
fn only_expressions_that_can_repeat_their_input_often_are_watched() {
    let double = ["[@, @]"; 7].join(" | ");
    assert!(watched(&double));
    assert!(watched(&format!("({double}) == a")), "what is compared counts as well");
    assert!(watched(&format!("a[?{double}]")));
    assert!(!watched(&["[@, @]"; 6].join(" | ")));
    assert!(!watched("items[*].{name: name, image: image, ports: ports[*].{port: port, name: name}}"));
}
