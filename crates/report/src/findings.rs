//! The results of a run, in memory while they are few, and on disk behind that.
//!
//! In: [`Finding`]s in the order of the run. Out: the same, as often as needed, and their counts.
//! Results in memory are lent; those on disk are read one by one, as lines of JSON with the number
//! of their policy, which all share.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;
use std::sync::Arc;

use ephor_engine::Status;
use serde::{Deserialize, Serialize};

use crate::fix::FileFix;
use crate::run::{Counts, Finding, Order, Place, PolicyInfo, ResourceName};
use crate::spool::{Spool, SpoolError, SpoolReader, Spools};

/// How many bytes of results are in memory before all go to disk.
pub const MEMORY: usize = 4 << 20;

/// Results in the order of a run.
#[derive(Debug)]
pub struct Findings {
    memory: Vec<Finding>,
    /// About how many bytes these take.
    size: usize,
    most: usize,
    folder: Option<PathBuf>,
    stored: Option<Stored>,
    len: usize,
    counts: Counts,
}

/// Results on disk.
#[derive(Debug)]
struct Stored {
    policies: PolicyTable,
    lines: Spool,
    line: Vec<u8>,
}

impl Default for Findings {
    fn default() -> Findings {
        Findings::within(MEMORY)
    }
}

impl FromIterator<Finding> for Findings {
    /// Results that are in memory already, and stay there.
    fn from_iter<I: IntoIterator<Item = Finding>>(all: I) -> Findings {
        let memory: Vec<Finding> = all.into_iter().collect();
        let (len, counts) = (memory.len(), Counts::of(&memory));
        let size = memory.iter().map(size).sum();
        Findings { memory, size, len, counts, ..Findings::default() }
    }
}

impl From<Vec<Finding>> for Findings {
    fn from(all: Vec<Finding>) -> Findings {
        all.into_iter().collect()
    }
}

impl Findings {
    /// None; at most about this many bytes will be in memory.
    pub fn within(most: usize) -> Findings {
        Findings {
            memory: Vec::new(),
            size: 0,
            most,
            folder: None,
            stored: None,
            len: 0,
            counts: Counts::default(),
        }
    }

    /// The same, with its file in a folder of its own choice.
    #[must_use]
    pub fn in_folder(mut self, folder: PathBuf) -> Findings {
        self.folder = Some(folder);
        self
    }

    /// Adds a result.
    ///
    /// # Errors
    /// There is no room for it, in memory and on the disk.
    pub fn push(&mut self, finding: Finding) -> Result<(), SpoolError> {
        self.counts.add(&finding);
        self.len += 1;
        if let Some(stored) = &mut self.stored {
            return stored.push(&finding);
        }
        self.size += size(&finding);
        self.memory.push(finding);
        if self.size <= self.most {
            return Ok(());
        }
        let lines = Spool::default();
        let lines = match &self.folder {
            Some(folder) => lines.in_folder(folder.clone()),
            None => lines,
        };
        let mut stored = Stored { policies: PolicyTable::default(), lines, line: Vec::new() };
        std::mem::take(&mut self.memory).iter().try_for_each(|finding| stored.push(finding))?;
        self.stored = Some(stored);
        Ok(())
    }

    /// Adds results.
    ///
    /// # Errors
    /// There is no room for them, in memory and on the disk.
    pub fn extend(&mut self, all: impl IntoIterator<Item = Finding>) -> Result<(), SpoolError> {
        all.into_iter().try_for_each(|finding| self.push(finding))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Counts also results that are not among these: `all` is how many there are of each status.
    pub(crate) fn count(&mut self, all: Counts) {
        self.counts = all;
    }

    /// How many there are of each status.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether they are on disk.
    pub fn is_on_disk(&self) -> bool {
        self.stored.is_some()
    }

    /// All, in order.
    pub fn iter(&self) -> FindingsIter<'_> {
        match &self.stored {
            None => FindingsIter::Memory(self.memory.iter()),
            Some(stored) => FindingsIter::Stored(stored.policies.read(stored.lines.reader())),
        }
    }
}

impl Stored {
    fn push(&mut self, finding: &Finding) -> Result<(), SpoolError> {
        self.line.clear();
        self.policies.write(finding, &mut self.line);
        self.lines.push(&self.line)
    }
}

/// About how many bytes a result takes, its policy aside.
pub(crate) fn size(finding: &Finding) -> usize {
    let of_place = |place: &Option<Place>| place.as_ref().map_or(0, |p| p.file.len() + p.text.len());
    let resource = finding.resource.as_ref().map_or(0, |r| {
        r.api_version.len() + r.kind.len() + r.namespace.len() + r.name.len() + r.generate_name.len()
    });
    let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    size_of::<Finding>()
        + finding.rule.len()
        + finding.message.len()
        + resource
        + text(&finding.field)
        + text(&finding.template)
        + of_place(&finding.place)
        + of_place(&finding.decision)
}

/// Results of a run.
pub enum FindingsIter<'f> {
    /// Those in memory.
    Memory(std::slice::Iter<'f, Finding>),
    /// Those on disk.
    Stored(StoredFindings<'f>),
}

impl<'f> Iterator for FindingsIter<'f> {
    type Item = Result<Cow<'f, Finding>, SpoolError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            FindingsIter::Memory(all) => all.next().map(|finding| Ok(Cow::Borrowed(finding))),
            FindingsIter::Stored(all) => all.next().map(|read| read.map(Cow::Owned)),
        }
    }
}

/// Policies of results on disk, by number.
#[derive(Debug, Default)]
pub(crate) struct PolicyTable {
    all: Vec<Arc<PolicyInfo>>,
    /// By the address of those in `all`, which stay there.
    by_address: HashMap<usize, usize>,
    by_content: HashMap<Arc<PolicyInfo>, usize>,
}

/// A result as a line holds it: a list, so that its fields have no names. Texts are lent where a
/// line is written, and owned where it is read.
#[derive(Deserialize, Serialize)]
struct StoredFinding<T>(
    /// The number of the policy.
    usize,
    /// The rule.
    T,
    /// The position of the status in [`STATUSES`].
    usize,
    /// The message.
    T,
    /// The resource.
    Option<StoredName<T>>,
    /// The field.
    Option<T>,
    /// The place.
    Option<StoredPlace<T>>,
    /// The template.
    Option<T>,
    /// The decision.
    Option<StoredPlace<T>>,
    /// Whether it is known.
    bool,
    /// The change that mends it.
    Option<Box<FileFix>>,
    /// The stage and the object of its order.
    (u32, u64),
);

/// Version, kind, namespace, name and its beginning.
#[derive(Deserialize, Serialize)]
struct StoredName<T>(T, T, T, T, T);

/// File, line, column, length and text.
#[derive(Deserialize, Serialize)]
struct StoredPlace<T>(T, usize, usize, usize, T);

const STATUSES: [Status; 5] = [Status::Pass, Status::Fail, Status::Warn, Status::Error, Status::Skip];

impl PolicyTable {
    fn number(&mut self, policy: &Arc<PolicyInfo>) -> usize {
        let address = Arc::as_ptr(policy) as usize;
        if let Some(number) = self.by_address.get(&address).or_else(|| self.by_content.get(policy)) {
            return *number;
        }
        let number = self.all.len();
        self.all.push(policy.clone());
        self.by_address.insert(address, number);
        self.by_content.insert(policy.clone(), number);
        number
    }

    /// Appends a result as a line.
    pub(crate) fn write(&mut self, finding: &Finding, line: &mut Vec<u8>) {
        let record = StoredFinding(
            self.number(&finding.policy),
            finding.rule.as_str(),
            STATUSES.iter().position(|status| *status == finding.status).unwrap_or_default(),
            finding.message.as_str(),
            finding.resource.as_ref().map(StoredName::of),
            finding.field.as_deref(),
            finding.place.as_ref().map(StoredPlace::of),
            finding.template.as_deref(),
            finding.decision.as_ref().map(StoredPlace::of),
            finding.is_known,
            finding.fix.clone(),
            (finding.order.stage, finding.order.object),
        );
        // Texts and numbers in memory: nothing of it can fail.
        let _ = serde_json::to_writer(&mut *line, &record);
        line.push(b'\n');
    }

    /// The results of lines.
    pub(crate) fn read<'f>(&'f self, lines: SpoolReader<'f>) -> StoredFindings<'f> {
        StoredFindings { policies: self, lines: BufReader::with_capacity(1 << 16, lines), line: Vec::new() }
    }
}

impl<'r> StoredName<&'r str> {
    fn of(r: &'r ResourceName) -> StoredName<&'r str> {
        StoredName(&r.api_version, &r.kind, &r.namespace, &r.name, &r.generate_name)
    }
}

impl From<StoredName<String>> for ResourceName {
    fn from(stored: StoredName<String>) -> ResourceName {
        let StoredName(api_version, kind, namespace, name, generate_name) = stored;
        ResourceName { api_version, kind, namespace, name, generate_name }
    }
}

impl<'p> StoredPlace<&'p str> {
    fn of(place: &'p Place) -> StoredPlace<&'p str> {
        StoredPlace(&place.file, place.line, place.column, place.length, &place.text)
    }
}

impl From<StoredPlace<String>> for Place {
    fn from(stored: StoredPlace<String>) -> Place {
        let StoredPlace(file, line, column, length, text) = stored;
        Place { file, line, column, length, text }
    }
}

/// Results that are read from lines.
pub struct StoredFindings<'f> {
    policies: &'f PolicyTable,
    lines: BufReader<SpoolReader<'f>>,
    line: Vec<u8>,
}

impl StoredFindings<'_> {
    fn decoded(&self) -> io::Result<Finding> {
        let record: StoredFinding<String> = serde_json::from_slice(&self.line)?;
        let StoredFinding(
            policy,
            rule,
            status,
            message,
            resource,
            field,
            place,
            template,
            decision,
            is_known,
            fix,
            order,
        ) = record;
        let is_gone = || io::Error::from(io::ErrorKind::InvalidData);
        Ok(Finding {
            policy: self.policies.all.get(policy).cloned().ok_or_else(is_gone)?,
            rule,
            status: STATUSES.get(status).copied().ok_or_else(is_gone)?,
            message,
            resource: resource.map(ResourceName::from),
            field,
            place: place.map(Place::from),
            template,
            decision: decision.map(Place::from),
            fix,
            is_known,
            order: Order { stage: order.0, object: order.1 },
        })
    }
}

impl Iterator for StoredFindings<'_> {
    type Item = Result<Finding, SpoolError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.line.clear();
        let read = self.lines.read_until(b'\n', &mut self.line);
        let read = read.and_then(|n| if n == 0 { Ok(None) } else { self.decoded().map(Some) });
        read.map_err(|error| self.lines.get_ref().failed(error)).transpose()
    }
}

/// Results side by side, as a format orders them.
#[derive(Debug, Default)]
pub(crate) struct SortedFindings {
    policies: PolicyTable,
    groups: Spools,
    line: Vec<u8>,
}

impl SortedFindings {
    /// Adds a result to a group; groups that are not there yet are added.
    ///
    /// # Errors
    /// There is no room for it, in memory and on the disk.
    pub(crate) fn push(&mut self, group: usize, finding: &Finding) -> Result<(), SpoolError> {
        self.line.clear();
        self.policies.write(finding, &mut self.line);
        self.groups.push(group, &self.line)
    }

    /// The results of a group.
    pub(crate) fn group(&self, group: usize) -> StoredFindings<'_> {
        self.policies.read(self.groups.reader(group))
    }
}
