//! Requests and their answers.

use ephor_editor::{Cancellation, Workspace};
use lsp_server::{ErrorCode, Request, ResponseError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::capabilities::ClientFeatures;
use super::commands::Prepared;
use super::settings::ServerSettings;

/// What an answer is taken from.
pub(super) struct Scope<'s> {
    pub(super) workspace: &'s mut Workspace,
    pub(super) features: ClientFeatures,
    pub(super) settings: &'s ServerSettings,
    pub(super) token: &'s Cancellation,
}

/// The answer to a request.
pub(super) enum Answered {
    /// A result or an error.
    Result(Result<Value, ResponseError>),
    /// That of a command, which has to run first.
    Later(Prepared),
}

/// Answers a request.
pub(super) fn answer(mut scope: Scope<'_>, request: Request) -> Answered {
    let Request { method, params, .. } = request;
    let scope = &mut scope;
    Answered::Result(match method.as_str() {
        _ => {
            let _ = (scope.features, scope.settings, scope.token, &scope.workspace);
            let _ = with::<Value, Value>(scope, params, |_, v| v);
            let message = format!("no method `{method}`");
            Err(ResponseError { code: ErrorCode::MethodNotFound as i32, message, data: None })
        }
    })
}

/// Answers with parameters.
fn with<P: DeserializeOwned, R: Serialize>(
    scope: &mut Scope<'_>,
    params: Value,
    answer: impl FnOnce(&mut Scope<'_>, P) -> R,
) -> Result<Value, ResponseError> {
    let error = |code: ErrorCode, error: serde_json::Error| ResponseError {
        code: code as i32,
        message: error.to_string(),
        data: None,
    };
    let params = serde_json::from_value(params).map_err(|e| error(ErrorCode::InvalidParams, e))?;
    serde_json::to_value(answer(scope, params)).map_err(|e| error(ErrorCode::InternalError, e))
}
