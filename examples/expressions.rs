//! Evaluates JMESPath and CEL on a document, as Kyverno and Kubernetes would.
//!
//! `cargo run --example expressions`

use ephor::search::cel::{Environment, Expression as Cel};
use ephor::search::{Expression, read};
use ephor::value::print::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pod = read(
        "{metadata: {name: cart}, spec: {containers: [{name: a, image: nginx}, {name: b, image: 'redis:7'}]}}",
    )?;

    let images = Expression::compile("spec.containers[?!contains(image, ':')].name | join(', ', @)")?;
    println!("without a tag: {}", json(&images.search(&pod)?));

    let environment = Environment::Kubernetes;
    let data = environment.data(&pod);
    let tagged = Cel::compile("object.spec.containers.all(c, c.image.contains(':'))", environment, &data)?;
    let outcome = tagged.evaluate(&data);
    println!("all have a tag: {}, at a cost of {}", outcome.to_text()?, outcome.cost);
    Ok(())
}
