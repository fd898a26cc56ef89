//! `is_external_url(url)`: whether a URL leads outside of private networks.
//!
//! The host must be an address or is looked up. Loopback and private addresses are inside,
//! everything else, link-local included, is outside. Errors are those of Go's URL parser and
//! resolver.

use std::net::{IpAddr, Ipv4Addr, ToSocketAddrs};

use super::args::text;
use super::{Arg, Context};
use ephor_value::quote::quote;
use ephor_value::url::split;
use ephor_value::{Fault, Value};

pub(super) fn is_external_url(_: &Context, args: &[Arg<'_>]) -> Result<Value, Fault> {
    let url = text(args, 0);
    let parts = split(url).map_err(|why| Fault::new(format!("parse {}: {why}", quote(url))))?;
    let addresses = resolve(&parts.host_name)?;
    Ok(Value::Bool(!addresses.into_iter().any(is_inside)))
}

fn is_inside(address: IpAddr) -> bool {
    let v4 = |a: Ipv4Addr| a.is_loopback() || a.is_private();
    match address {
        IpAddr::V4(a) => v4(a),
        IpAddr::V6(a) => match a.to_ipv4_mapped() {
            Some(a) => v4(a),
            None => a.is_loopback() || a.octets()[0] & 0xfe == 0xfc,
        },
    }
}

fn resolve(host: &str) -> Result<Vec<IpAddr>, Fault> {
    super::untracked::note();
    let not_found = || Fault::new(format!("lookup {host}: no such host"));
    if host.is_empty() {
        return Err(not_found());
    }
    let address = host.split_once('%').map_or(host, |(address, _)| address);
    if let Ok(address) = address.parse::<IpAddr>() {
        return Ok(vec![address]);
    }
    // Digits and dots that are no address are no name either; the system would read them as one.
    if host.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return Err(not_found());
    }
    let found: Vec<IpAddr> =
        (host, 0).to_socket_addrs().map_err(|_| not_found())?.map(|socket| socket.ip()).collect();
    if found.is_empty() { Err(not_found()) } else { Ok(found) }
}
