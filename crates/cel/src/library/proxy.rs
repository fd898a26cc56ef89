//! The environments of expressions on check requests of proxies.

use std::sync::Arc;

use super::{Admission, admission, message, without_rights};
use crate::env::Env;
use crate::types::{self, Type};
use ephor_functions::cel::overload;
use ephor_functions::cel::proxy_types::{ENVOY, HTTP, MCP, messages};
use ephor_ir::expressions::Proxy;

/// The environment of expressions on check requests.
pub fn proxy(of: Proxy) -> Env {
    let mut env = admission(Admission { backticks: true, ..Default::default() });
    let mut all = (*env.functions).clone();
    without_rights(&mut all);
    let (own, table) = match of {
        Proxy::Http => (&overload::PROXY_HTTP, HTTP),
        Proxy::Envoy => (&overload::PROXY_ENVOY, ENVOY),
    };
    let libraries =
        [&overload::MATH, &overload::GENERAL, &overload::SHARED, &overload::PROXY, &overload::CLUSTER, own];
    libraries.iter().for_each(|library| library.declare(&mut all));
    env.functions = Arc::new(all);
    env.syntax.bind = true;
    env.syntax.math = true;
    env.syntax.two_variables = false;
    env.late_strings = true;
    env.variables.clear();
    env.variables.insert("object".into(), Type::Struct(of.request().into()));
    for (name, ty) in [
        ("resource", "resource.Context"),
        ("http", "http.Context"),
        ("image", "imagedata.Context"),
        ("json", "json.Json"),
        ("mcp", "mcp.MCP"),
    ] {
        env.variables.insert(name.into(), types::parse(ty));
    }
    for (name, fields) in messages(table).chain(messages(MCP)) {
        let fields: Vec<String> = fields.iter().map(|(field, ty)| format!("{field} {ty}")).collect();
        env.messages.insert(name, message(&fields.join(", ")));
    }
    env.messages.insert("jwt.Token", message("Valid bool, Claims map<string, dyn>"));
    env
}
