//! The environments of expressions on check requests of proxies.

use std::sync::Arc;

use super::{Admission, MATH, SHARED, admission, declare, message, without_rights};
use crate::cel::env::Env;
use crate::cel::types::{self, Type};
use crate::functions::cel::proxy_types::{ENVOY, HTTP, MCP, messages};
use crate::ir::expressions::Proxy;

/// The environment of expressions on check requests.
pub fn proxy(of: Proxy) -> Env {
    let mut env = admission(Admission { backticks: true, ..Default::default() });
    let mut all = (*env.functions).clone();
    without_rights(&mut all);
    declare(&mut all, MATH);
    declare(&mut all, include_str!("general.txt"));
    declare(&mut all, SHARED);
    declare(&mut all, include_str!("proxy.txt"));
    declare(&mut all, include_str!("kyverno_cluster.txt"));
    let (own, table) = match of {
        Proxy::Http => (include_str!("proxy_http.txt"), HTTP),
        Proxy::Envoy => (include_str!("proxy_envoy.txt"), ENVOY),
    };
    declare(&mut all, own);
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
