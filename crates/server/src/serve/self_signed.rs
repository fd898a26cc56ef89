//! Self-signed certificates: an authority and a pair for the server, in a folder, renewed before they expire.
//!
//! The bundle holds a new authority together with the old one until that expires, so clients with the bundle trust
//! both. Files are written under a temporary name and renamed, so that no reader sees half of one.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

use super::Error;
use super::tls::Pair;

const DAY: Duration = Duration::from_secs(24 * 3600);
/// How many days an authority is valid.
const AUTHORITY: u32 = 365;
/// How many days a pair is valid.
const SERVER: u32 = 150;
/// Both are renewed this many days before they expire.
const RENEW: u32 = 15;

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
        let is_good = |created: Option<&u64>, days: u32, file: &Path| {
            file.exists() && created.is_some_and(|c| today >= *c && today - c < u64::from(days - RENEW))
        };
        let pair = self.pair();
        let key_file = self.folder.join("ca.key");
        let has_authority = is_good(created.first(), AUTHORITY, &self.bundle()) && key_file.exists();
        let names = self.names.join(",");
        let same_names = known.lines().nth(2) == Some(&*names);
        let has_pair = has_authority
            && same_names
            && is_good(created.get(1), SERVER, &pair.certificate)
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
                let certificate = authority(now)?.self_signed(&key)?;
                let old = std::fs::read_to_string(self.bundle()).unwrap_or_default();
                write(&key_file, &key.serialize_pem())?;
                write(&self.bundle(), &(certificate.pem() + first(&old)))?;
                key
            }
        };
        let issuer = Issuer::new(authority(now)?, key);
        let own = KeyPair::generate()?;
        let mut params = CertificateParams::new(self.names.clone())?;
        let name = self.names.first().cloned().unwrap_or_default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        limit(&mut params, now, SERVER);
        let certificate = params.signed_by(&own, &issuer)?;
        write(&pair.key, &own.serialize_pem())?;
        write(&pair.certificate, &certificate.pem())?;
        write(&dates, &format!("{authority_created}\n{today}\n{names}\n"))?;
        Ok(true)
    }
}

/// The first certificate of a bundle: the last authority but one.
fn first(bundle: &str) -> &str {
    const END: &str = "-----END CERTIFICATE-----\n";
    bundle.find(END).and_then(|at| bundle.get(..at + END.len())).unwrap_or_default()
}

/// Makes a certificate valid from an hour ago on.
fn limit(params: &mut CertificateParams, now: SystemTime, days: u32) {
    params.not_before = now.checked_sub(Duration::from_secs(3600)).unwrap_or(now).into();
    params.not_after = now.checked_add(DAY * days).unwrap_or(now).into();
}

fn authority(now: SystemTime) -> Result<CertificateParams, Error> {
    let mut params = CertificateParams::new(Vec::<String>::new())?;
    params.distinguished_name.push(DnType::CommonName, "ephor");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    limit(&mut params, now, AUTHORITY);
    Ok(params)
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
        assert!(own.renew(now + DAY * (SERVER - RENEW)).unwrap());
        assert!(certificates.reload().unwrap());
        assert_eq!(bundles(), 1);
        // The bundle has the new authority and the last old one, but no older ones.
        assert!(own.renew(now + DAY * (AUTHORITY - RENEW)).unwrap());
        assert_eq!(bundles(), 2);
        assert!(own.renew(now + DAY * 2 * (AUTHORITY - RENEW)).unwrap());
        assert_eq!(bundles(), 2);
    }
}
