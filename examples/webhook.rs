//! A validating webhook inside a program of one's own: an axum handler over the engine.
//!
//! `cargo run --example webhook -- policies/` answers AdmissionReviews on
//! `http://127.0.0.1:8080/validate`. An API server connects over TLS only: put this behind a proxy
//! that terminates it. `ephor serve` is the complete server.

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::post;
use ephor::{Engine, Error, PolicySet};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: webhook FOLDER")?;
    let engine = Arc::new(Engine::new(PolicySet::from_path(folder)?));
    let validate = move |body: String| {
        let engine = engine.clone();
        async move {
            // An evaluation may take some time: it must not hold up the threads of the server.
            match tokio::task::spawn_blocking(move || engine.review(&body)).await {
                Ok(Ok(review)) => ([("content-type", "application/json")], review).into_response(),
                Ok(Err(Error::Review { status, message })) => {
                    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
                    (status, message).into_response()
                }
                Ok(Err(other)) => (StatusCode::INTERNAL_SERVER_ERROR, other.to_string()).into_response(),
                Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            }
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    axum::serve(listener, Router::new().route("/validate", post(validate))).await?;
    Ok(())
}
