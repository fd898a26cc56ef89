//! Requests of the protocol and their answers.
//!
//! In: messages that `rmcp` has read. Out: the tools, and the results of calls. A call runs on a
//! thread of its own within its time; a fault of the program ends the call, not the session. What
//! is wrong with a call is a result that is an error, so that the agent sees it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult,
    ErrorCode, ErrorData, Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
    ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler, ServiceExt};
use serde_json::{Map, Value as Json, json};
use tokio::sync::Semaphore;

use super::answer::ToolAnswer;
use super::arguments::{McpSettings, schema};
use super::error::ToolError;
use super::tools::{self, McpTool, TOOLS};
use super::transport::LineTransport;

/// Calls that run at a time. A choice: each uses all cores for a large input, so more of them only
/// take memory.
const MAX_CALLS: usize = 4;

/// How much longer than its limit a call may take to give what it has.
const GRACE: Duration = Duration::from_secs(5);

/// What the client reads about the server.
const INSTRUCTIONS: &str = "Tools for Kubernetes admission policies (Kyverno, ValidatingAdmissionPolicy, MutatingAdmissionPolicy): check them before they run (lint), see why they decide (explain), evaluate them on resources (apply), run their tests (test), compare two versions (diff), rewrite ClusterPolicies in CEL (migrate). Inputs are texts, or paths of files and folders. Nothing is written unless a call has `output`.";

struct McpServer {
    settings: McpSettings,
    calls: Arc<Semaphore>,
}

/// Serves standard input until it ends.
///
/// # Errors
/// The threads cannot be started.
pub(super) fn serve(settings: McpSettings) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build()?;
    let server = McpServer { settings, calls: Arc::new(Semaphore::new(MAX_CALLS)) };
    let transport = LineTransport::of_process()?;
    runtime.block_on(async {
        // An error is the end of the input, or of the output, before the session began.
        if let Ok(session) = server.serve(transport).await {
            let _ = session.waiting().await;
        }
    });
    // A call that was given up may still run.
    runtime.shutdown_background();
    Ok(())
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let implementation = Implementation::new("ephor", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(implementation)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.iter().map(listed).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tool = tools::find(&request.name).map_err(|error| invalid(&error))?;
        let (settings, given) = (self.settings.clone(), request.arguments.unwrap_or_default());
        let limit = settings.time_limit;
        let Ok(permit) = self.calls.clone().acquire_owned().await else {
            return Ok(refused(&ToolError::Fault).into());
        };
        let work = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            tool.call(&given, &settings)
        });
        let answer = tokio::select! {
            done = work => done.unwrap_or(Err(ToolError::Fault)),
            () = context.ct.cancelled() => Err(ToolError::Cancelled),
            () = tokio::time::sleep(limit + GRACE) => Err(ToolError::Late(limit)),
        };
        Ok(answer.map_or_else(|error| refused(&error), succeeded).into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // `rmcp` hands on what has the name of a request and other parameters.
        let text = match &*request.method {
            "tools/call" => "`params` must have a string `name` and an object `arguments`",
            "tools/list" | "initialize" | "ping" => "`params` cannot be read",
            method => {
                let text = format!("there is no method `{method}`");
                return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, text, None));
            }
        };
        Err(ErrorData::invalid_params(text, None))
    }
}

/// The error of a request that names no tool.
fn invalid(error: &ToolError) -> ErrorData {
    let text = match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    };
    let tools: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
    ErrorData::invalid_params(text, Some(json!({"tools": tools})))
}

fn succeeded(answer: ToolAnswer) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(answer.text)]);
    result.structured_content = Some(answer.result);
    result
}

fn refused(error: &ToolError) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(error.text())])
}

/// A tool as clients see it.
fn listed(tool: &McpTool) -> Tool {
    let output = match (tool.output)() {
        Json::Object(schema) => schema,
        _ => Map::new(),
    };
    let annotations = ToolAnnotations::from_raw(
        Some(tool.title.into()),
        Some(!tool.writes),
        Some(tool.writes),
        Some(true),
        Some(false),
    );
    let mut listed = Tool::new(tool.name, tool.about, Arc::new(schema(tool.arguments)));
    listed.title = Some(tool.title.into());
    listed.output_schema = Some(Arc::new(output));
    listed.annotations = Some(annotations);
    listed
}
