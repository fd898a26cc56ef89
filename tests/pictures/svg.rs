//! Shapes of pictures, in colours for light and dark pages.

/// A picture of a size with its shapes; `label` is what it shows, for readers that do not see it.
pub fn picture(width: usize, height: usize, label: &str, shapes: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{label}\">\n\
         <style>\n\
         text {{ font: 14px system-ui, sans-serif; fill: #1f2328 }}\n\
         .small {{ font-size: 12px }} .strong {{ font-weight: 600 }} .quiet {{ fill: #59636e }}\n\
         .page {{ fill: #ffffff }} .box {{ fill: #f6f8fa; stroke: #d1d9e0 }} .ours {{ fill: #0969da }} .theirs {{ fill: #9a6700 }}\n\
         .arrow {{ stroke: #59636e; fill: none; stroke-width: 1.5 }} .head {{ fill: #59636e }}\n\
         @media (prefers-color-scheme: dark) {{\n\
         text {{ fill: #f0f6fc }} .quiet {{ fill: #9198a1 }} .page {{ fill: #0d1117 }} .box {{ fill: #151b23; stroke: #3d444d }}\n\
         .ours {{ fill: #4493f8 }} .theirs {{ fill: #d29922 }} .arrow {{ stroke: #9198a1 }} .head {{ fill: #9198a1 }}\n\
         }}\n\
         </style>\n\
         <rect class=\"page\" width=\"{width}\" height=\"{height}\" rx=\"8\"/>\n{shapes}</svg>\n"
    )
}

/// A text at a place.
pub fn text(x: f64, y: f64, class: &str, text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    format!("<text x=\"{x}\" y=\"{y}\" class=\"{class}\">{text}</text>\n")
}

/// A rectangle.
pub fn rect(x: f64, y: f64, width: f64, height: f64, class: &str) -> String {
    format!("<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"4\" class=\"{class}\"/>\n")
}

/// An arrow to the right.
pub fn arrow(x: f64, y: f64, length: f64) -> String {
    let end = x + length;
    format!(
        "<path class=\"arrow\" d=\"M{x} {y}H{}\"/><path class=\"head\" d=\"M{end} {y}l-8 -4v8z\"/>\n",
        end - 6.0
    )
}
