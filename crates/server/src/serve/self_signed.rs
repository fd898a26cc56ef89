//! Self-signed certificates: an authority and a pair for the server, in a folder, renewed before
//! they expire.
//!
//! The bundle holds a new authority together with the old one until that expires, so clients with
//! the bundle trust both. Files are written under a temporary name and renamed, so that no reader
//! sees half of one.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rcgen::KeyPair;

use ephor_controllers::certificates::issue::{self, AUTHORITY, PAIR, Pem, RENEW};

use super::Error;
use super::tls::Pair;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// The folder and the names that the certificate is for.
#[derive(Clone, Debug)]
pub struct SelfSigned {
    /// Where the files are.
    pub folder: PathBuf,
    /// DNS names and addresses.
    pub names: Vec<String>,
}

impl SelfSigned {
    /// The pair of the server.
    pub fn pair(&self) -> Pair {
        Pair { certificate: self.folder.join("tls.crt"), key: self.folder.join("tls.key") }
    }

    /// The certificates that clients are to trust.
    pub fn bundle(&self) -> PathBuf {
        self.folder.join("ca.crt")
    }

    /// Creates what is missing or about to expire; returns whether anything was created.
    ///
    /// # Errors
    /// A file cannot be written, or a name is none.
    pub fn renew(&self, now: SystemTime) -> Result<bool, Error> {
        std::fs::create_dir_all(&self.folder).map_err(|e| Error::in_file(&self.folder, e))?;
        let dates = self.folder.join("dates");
        let known = std::fs::read_to_string(&dates).unwrap_or_default();
        let created: Vec<u64> = known.lines().filter_map(|l| l.trim().parse().ok()).collect();
        let today = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs() / DAY.as_secs();
        let is_good = |created: Option<&u64>, valid: Duration, file: &Path| {
            let days = valid.saturating_sub(RENEW).as_secs() / DAY.as_secs();
            file.exists() && created.is_some_and(|c| today >= *c && today - c < days)
        };
        let pair = self.pair();
        let key_file = self.folder.join("ca.key");
        let has_authority = is_good(created.first(), AUTHORITY, &self.bundle()) && key_file.exists();
        let names = self.names.join(",");
        let same_names = known.lines().nth(2) == Some(&*names);
        let has_pair = has_authority
            && same_names
            && is_good(created.get(1), PAIR, &pair.certificate)
            && pair.key.exists();
        if has_pair {
            return Ok(false);
        }
        let mut authority_created = created.first().copied().unwrap_or(today);
        let key = match std::fs::read_to_string(&key_file).ok().and_then(|pem| KeyPair::from_pem(&pem).ok()) {
            Some(key) if has_authority => key,
            known => {
                authority_created = today;
                // The key stays, so certificates of the former authority can still be followed.
                let key = known.map_or_else(KeyPair::generate, Ok)?;
                let certificate = issue::authority(&key, now)?;
                let old = std::fs::read_to_string(self.bundle()).unwrap_or_default();
                write(&key_file, &key.serialize_pem())?;
                write(&self.bundle(), &(certificate + first(&old)))?;
                key
            }
        };
        let Pem { certificate, key } = issue::pair(&key, &self.names, now, None)?;
        write(&pair.key, &key)?;
        write(&pair.certificate, &certificate)?;
        write(&dates, &format!("{authority_created}\n{today}\n{names}\n"))?;
        Ok(true)
    }
}

/// The first certificate of a bundle: the last authority but one.
fn first(bundle: &str) -> &str {
    const END: &str = "-----END CERTIFICATE-----\n";
    bundle.find(END).and_then(|at| bundle.get(..at + END.len())).unwrap_or_default()
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    let in_file = |e: std::io::Error| Error::in_file(path, e);
    let folder = path.parent().unwrap_or(Path::new("."));
    // Such a file can be read by its owner alone.
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(in_file)?;
    file.write_all(text.as_bytes()).map_err(in_file)?;
    file.persist(path).map_err(|e| in_file(e.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use super::*;
    use crate::serve::tls::Certificates;

    #[test]
    fn a_self_signed_pair_can_be_used_and_is_renewed_in_time() {
        let dir = tempfile::tempdir().unwrap();
        let own = SelfSigned {
            folder: dir.path().join("tls"),
            names: vec!["ephor.ephor.svc".into(), "127.0.0.1".into()],
        };
        let now = SystemTime::now();
        assert!(own.renew(now).unwrap());
        assert!(!own.renew(now).unwrap());
        let certificates = Arc::new(Certificates::open(own.pair()).unwrap());
        certificates.config().unwrap();
        assert!(!certificates.reload().unwrap());
        let bundles = || std::fs::read_to_string(own.bundle()).unwrap().matches("BEGIN CERTIFICATE").count();
        assert_eq!(bundles(), 1);
        // The pair goes first.
        assert!(own.renew(now + PAIR - RENEW).unwrap());
        assert!(certificates.reload().unwrap());
        assert_eq!(bundles(), 1);
        // The bundle has the new authority and the last old one, but no older ones.
        assert!(own.renew(now + AUTHORITY - RENEW).unwrap());
        assert_eq!(bundles(), 2);
        assert!(own.renew(now + (AUTHORITY - RENEW) * 2).unwrap());
        assert_eq!(bundles(), 2);
    }
}
