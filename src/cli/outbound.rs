//! Flags about requests to services, registries and other servers that are not the cluster.
//!
//! In: flags, or a profile of the command line. Out: settings of the HTTP client.

use ephor_engine::Profile;
use ephor_recording::Recording;
use ephor_sources::http::guard::Guard;
use ephor_sources::http::{self, Settings, roots};

use super::CommandError;
use super::flags::{Record, fields};

/// Flags about requests to other servers.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Calls of policies")]
pub(super) struct Outbound {
    /// addresses, ranges and host names that policies may not call, empty for none
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "169.254.169.254/32,169.254.169.253/32,fd00:ec2::254/128,metadata.google.internal,127.0.0.0/8,::1/128"
    )]
    http_blocklist: Vec<Record>,
    /// prefixes of the only URLs that policies may call
    #[arg(long, value_name = "URL", value_hint = clap::ValueHint::Url)]
    http_allowlist: Vec<Record>,
    /// PEM files with additional certificate authorities to trust for services, registries and
    /// collectors
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    ca_file: Vec<Record>,
}

/// Chooses the client's settings by flags.
///
/// # Errors
/// An entry or a file cannot be used.
pub(super) fn configure(options: &Outbound, recording: Option<Recording>) -> Result<(), CommandError> {
    let guard = Guard::of(&fields(&options.http_blocklist), &fields(&options.http_allowlist))?;
    let mut settings = Settings { guard, recording, ..Settings::default() };
    for path in fields(&options.ca_file) {
        settings.roots.extend(roots::of_file(&path)?);
    }
    http::configure(settings);
    Ok(())
}

/// Chooses the client's settings by profile.
pub(super) fn configure_for(profile: Profile, recording: Option<Recording>) {
    let settings = if profile.unlimited_services { Settings::kyverno_cli() } else { Settings::default() };
    http::configure(Settings { recording, ..settings });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct Flags {
        #[command(flatten)]
        outbound: Outbound,
    }

    #[test]
    fn the_default_of_the_flag_is_the_list_of_the_guard() {
        let flags = <Flags as clap::Parser>::parse_from(["ephor"]);
        assert_eq!(fields(&flags.outbound.http_blocklist), http::guard::BLOCKED);
    }
}
