//! Evaluates JMESPath and CEL on a document, as Kyverno and Kubernetes would.
//!
//! `cargo run --example expressions`

use ephor::{Cel, Environment, JmesPath, Value};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pod: Value = serde_json::json!({
        "metadata": {"name": "cart"},
        "spec": {"containers": [{"name": "a", "image": "nginx"}, {"name": "b", "image": "redis:7"}]},
    })
    .into();

    let images = JmesPath::compile("spec.containers[?!contains(image, ':')].name | join(', ', @)")?;
    println!("without a tag: {}", serde_json::Value::from(&images.evaluate(&pod)?));

    let tagged =
        Cel::compile("object.spec.containers.all(c, c.image.contains(':'))", Environment::Kubernetes)?;
    println!("all have a tag: {}", serde_json::Value::from(&tagged.evaluate(&pod)?));
    Ok(())
}
