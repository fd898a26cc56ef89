//! A validating webhook inside a program of one's own: an axum handler over the engine.
//!
//! `cargo run --example webhook -- policies/` answers AdmissionReviews on `http://127.0.0.1:8080/validate`. An API
//! server calls over TLS only: put this behind a proxy that terminates it. `ephor serve` is the complete server.

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::post;
use ephor::admit::Gate;
use ephor::external::NoData;
use ephor::load::{self, Reader};
use ephor::sources::files;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: webhook FOLDER")?;
    let gate = Gate::new(
        load::argument_for(&files::served_policies(&[folder]).sources, Reader::Server),
        Arc::new(NoData),
        &[],
    );
    for broken in gate.broken() {
        eprintln!("{broken:?}");
    }
    let gate = Arc::new(gate);
    let validate = move |body: String| {
        let gate = gate.clone();
        async move {
            // Policies are evaluated on threads that may take their time.
            let answer = tokio::task::spawn_blocking(move || gate.review("/validate", &body)).await;
            match answer {
                Ok(Ok(review)) => ([("content-type", "application/json")], review).into_response(),
                Ok(Err(refused)) => {
                    let status = StatusCode::from_u16(refused.status).unwrap_or(StatusCode::BAD_REQUEST);
                    (status, refused.text).into_response()
                }
                Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            }
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    axum::serve(listener, Router::new().route("/validate", post(validate))).await?;
    Ok(())
}
