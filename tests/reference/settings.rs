//! The page of settings, from the tables that ConfigMaps and the environment are read by.

use std::fmt::Write;

use ephor_admission::settings::{KEYS, Key, METRICS_KEYS};
use ephor_value::environment;

use super::cell;

fn keys(title: &str, intro: &str, keys: &[Key]) -> String {
    let mut text = format!("\n## {title}\n\n{intro}\n\n| key | value | sets |\n|---|---|---|\n");
    for key in keys {
        writeln!(text, "| `{}` | {} | {} |", key.name, cell(key.form), cell(key.about)).unwrap();
    }
    text
}

pub fn page() -> String {
    let mut text = String::from(
        "# Settings\n\n\
         What the server and the commands read besides their flags, which are at [Commands](commands.md). This page is generated from the\n\
         tables that the program reads them by.\n",
    );
    text.push_str(&keys(
        "ConfigMap of the server",
        "The keys of Kyverno's ConfigMap that have an effect: of the file of `--config-map`, else of the object of the cluster that\n\
         `--config-map-name` names. An invalid value leaves the default of its key and is reported on `/readyz`. A change in the cluster takes effect\n\
         at once, one of a file as [policies do](serve.md#reload). Other keys of Kyverno's, such as `maxContextSize` and\n\
         `updateRequestThreshold`, have no effect.",
        KEYS,
    ));
    text.push_str(&keys(
        "Metrics",
        "The keys of Kyverno's ConfigMap for metrics, of `--metrics-config-map` or `--metrics-config-map-name`, likewise. Changed settings mean that\n\
         the [metrics](metrics.md) that are marked as configurable start at zero.",
        METRICS_KEYS,
    ));
    text.push_str(
        "\n## Environment variables of flags\n\n\
         Each flag has a variable: `EPHOR_`, the command, and the flag, in capitals and with underscores. `EPHOR_APPLY_RESOURCE` sets\n\
         `ephor apply --resource`, `EPHOR_JP_QUERY_INPUT` sets `ephor jp query --input`; `EPHOR_KUBECONFIG` is that of all commands. The command\n\
         line takes precedence.\n",
    );
    text.push_str("\n## Other environment variables\n\n| variable | sets |\n|---|---|\n");
    for variable in environment::ALL {
        writeln!(text, "| `{}` | {} |", variable.name, cell(variable.about)).unwrap();
    }
    text
}
