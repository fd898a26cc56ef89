//! Flags about requests to services, registries and other servers that are not the cluster.
//!
//! In: flags, or a profile of the command line. Out: settings of the HTTP client.

use ephor_engine::Profile;
use ephor_sources::http::guard::Guard;
use ephor_sources::http::{self, Settings, roots};

use super::flags::{Flag, Parsed, Takes, flag};

/// Ranges of addresses and names of hosts that policies may not call.
pub(super) const BLOCKLIST: Flag = flag(
    "http-blocklist",
    Takes::List,
    "addresses, ranges and host names that policies may not call, empty for none",
)
.default(
    "169.254.169.254/32,169.254.169.253/32,fd00:ec2::254/128,metadata.google.internal,127.0.0.0/8,::1/128",
);

/// Prefixes of URLs that policies may call.
pub(super) const ALLOWLIST: Flag =
    flag("http-allowlist", Takes::List, "prefixes of the only URLs that policies may call");

/// Additional roots.
pub(super) const CA_FILE: Flag = flag(
    "ca-file",
    Takes::List,
    "PEM files with additional certificate authorities to trust for services, registries and collectors",
);

/// Chooses the client's settings by flags.
///
/// # Errors
/// An entry or a file cannot be used.
pub(super) fn configure(parsed: &Parsed) -> Result<(), String> {
    let list = |flag: &str| -> Vec<&str> { parsed.list(flag).iter().flat_map(|t| t.split(',')).collect() };
    let guard = Guard::of(&list("http-blocklist"), &list("http-allowlist"))
        .map_err(|e| format!("--http-blocklist, --http-allowlist: {e}"))?;
    let mut settings = Settings { guard, ..Settings::default() };
    for path in list("ca-file") {
        settings.roots.extend(roots::of_file(path).map_err(|e| format!("--ca-file: {e}"))?);
    }
    http::configure(settings);
    Ok(())
}

/// Chooses the client's settings by profile.
pub(super) fn configure_for(profile: Profile) {
    http::configure(if profile.unlimited_services { Settings::kyverno_cli() } else { Settings::default() });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_of_the_flag_is_the_list_of_the_guard() {
        let parsed = super::super::flags::parse(&[BLOCKLIST], &[]).unwrap_or_default();
        let list: Vec<&str> = parsed.list("http-blocklist").iter().flat_map(|t| t.split(',')).collect();
        assert_eq!(list, http::guard::BLOCKED);
    }
}
