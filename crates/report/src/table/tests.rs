use super::render;

fn row(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|c| (*c).to_string()).collect()
}

#[test]
fn columns_are_as_wide_as_their_widest_cell() {
    let rows = [row(&["1", "need-team", "team-label", "v1/Pod/default/good", "Pass", "Ok"])];
    let text = render(&["ID", "POLICY", "RULE", "RESOURCE", "RESULT", "REASON"], &rows, false);
    let expected = "\
│────│───────────│────────────│─────────────────────│────────│────────│
│ ID │ POLICY    │ RULE       │ RESOURCE            │ RESULT │ REASON │
│────│───────────│────────────│─────────────────────│────────│────────│
│ 1  │ need-team │ team-label │ v1/Pod/default/good │ Pass   │ Ok     │
│────│───────────│────────────│─────────────────────│────────│────────│
";
    assert_eq!(text, expected);
}

#[test]
fn nothing_is_printed_without_rows() {
    assert_eq!(render(&["ID"], &[], false), "");
}

#[test]
fn the_first_header_counts_more_than_ten_rows() {
    let rows: Vec<_> = (1..=13).map(|i: i32| row(&[&i.to_string()])).collect();
    assert!(render(&["ID"], &rows, false).contains("│ ID (13)  │\n"));
}

#[test]
fn colour_codes_have_no_width_and_wide_characters_two() {
    let rows = [row(&["\u{1b}[31mFail\u{1b}[0m"]), row(&["日本語"])];
    let text = render(&["R"], &rows, true);
    assert!(text.contains("│ \u{1b}[40;32mR     \u{1b}[0m │\n"), "{text}");
    assert!(text.contains("│ \u{1b}[31mFail\u{1b}[0m   │\n"));
    assert!(text.contains("│ 日本語 │\n"));
}

#[test]
fn lines_of_a_cell_stand_below_each_other() {
    let text = render(&["A", "B"], &[row(&["1", "x\nyy"])], false);
    assert!(text.contains("│ 1 │ x  │\n│   │ yy │\n"), "{text}");
}

#[test]
fn long_cells_are_wrapped_at_blanks() {
    let cell = vec!["wordword"; 60].join("  ");
    let text = render(&["A"], &[row(&[&cell])], false);
    let lines: Vec<_> = text.lines().filter(|l| l.contains("wordword")).collect();
    assert_eq!(lines.len(), 2);
    assert!(!text.contains("wordword  wordword"));
}
