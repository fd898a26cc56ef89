//! The options of a connection, from its address.
//!
//! In: the address of a request such as `kubectl exec` sends. Out: the object that webhooks see,
//! which no log holds.

use ephor_value::Value;
use percent_encoding::percent_decode_str;

/// The kinds of options by subresource of Pods, Services and nodes.
const KINDS: [(&str, &str, &str); 6] = [
    ("pods", "exec", "PodExecOptions"),
    ("pods", "attach", "PodAttachOptions"),
    ("pods", "portforward", "PodPortForwardOptions"),
    ("pods", "proxy", "PodProxyOptions"),
    ("services", "proxy", "ServiceProxyOptions"),
    ("nodes", "proxy", "NodeProxyOptions"),
];

/// The options of a connection; `None` = the request is none.
pub(crate) fn options(resource: &str, subresource: &str, address: &str) -> Option<Value> {
    let (.., kind) = KINDS.iter().find(|(of, sub, _)| *of == resource && *sub == subresource)?;
    let mut fields = vec![("kind".to_owned(), Value::from(*kind)), ("apiVersion".to_owned(), "v1".into())];
    let query = address.split_once('?').map_or("", |(_, query)| query);
    let mut command: Vec<Value> = Vec::new();
    for (name, text) in query.split('&').filter_map(|part| part.split_once('=')) {
        let text = percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned();
        match name {
            "command" => command.push(text.into()),
            "container" => fields.push((name.into(), text.into())),
            "stdin" | "stdout" | "stderr" | "tty" => {
                fields.push((name.into(), Value::Bool(matches!(&*text, "1" | "true"))));
            }
            _ => {}
        }
    }
    if *kind == "PodExecOptions" {
        fields.push(("command".into(), Value::list(command)));
    }
    Some(Value::Map(fields.into_iter().map(|(name, value)| (name.as_str().into(), value)).collect()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_options_of_exec_are_in_its_address() {
        let address =
            "/api/v1/namespaces/web/pods/a/exec?command=sh&command=-c+x&container=c&stdin=true&tty=0";
        let options = options("pods", "exec", address).unwrap();
        let text = ephor_value::print::json(&options);
        assert_eq!(
            text,
            r#"{"apiVersion":"v1","command":["sh","-c x"],"container":"c","kind":"PodExecOptions","stdin":true,"tty":false}"#
        );
    }

    #[test]
    fn other_subresources_are_no_connections() {
        assert!(options("pods", "status", "").is_none() && options("pods", "", "").is_none());
    }
}
