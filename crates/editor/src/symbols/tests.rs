use crate::fixture::{CEL_POLICY, POD, POLICY, fixture};

#[test]
fn a_policy_has_rules_and_validations() {
    let fixture = fixture(&[("p.yaml", POLICY), ("c.yaml", CEL_POLICY), ("pod.yaml", POD)]);
    let shown = |file: &str| {
        let mut out = Vec::new();
        for symbol in fixture.workspace.symbols(file) {
            let text = fixture.workspace.text(file).unwrap();
            out.push(format!("{} {}", symbol.detail, text.slice(symbol.name_span)));
            for child in &symbol.children {
                assert!(symbol.span.start <= child.span.start && child.span.end <= symbol.span.end);
                assert!(child.span.start <= child.name_span.start && child.name_span.end <= child.span.end);
                out.push(format!("- {}", child.name));
            }
        }
        out
    };
    assert_eq!(shown("p.yaml"), ["ClusterPolicy no-latest", "- tag"]);
    assert_eq!(shown("c.yaml"), ["ValidatingPolicy replicas", "- count", "- too few"]);
    assert_eq!(shown("pod.yaml"), ["Pod web"]);
    let found = fixture.workspace.workspace_symbols("A");
    let names: Vec<&str> = found.iter().map(|(_, symbol)| symbol.name.as_str()).collect();
    assert_eq!(names, ["replicas", "no-latest", "tag"]);
}
