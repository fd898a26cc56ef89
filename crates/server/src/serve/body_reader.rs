//! Taking in the bodies of reviews.
//!
//! In: bodies as they arrive. Out: whole bodies, or a refusal. Clients are not authenticated, so
//! that none may take much: a body has a limit, must arrive at a rate, and all bodies that are not
//! answered yet have a limit together. When there is no room, those that have been arriving for
//! long make way for others. Bodies of at most [`SMALL`] bytes that are whole are not counted:
//! `--max-in-flight` bounds them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, header};
use futures_util::FutureExt;
use http_body_util::BodyExt;
use hyper::body::Body as _;
use tokio::sync::Notify;

use ephor_admission::admit::Undecodable;

/// Whole bodies up to this size are not counted.
const SMALL: usize = 64 << 10;
/// How long a body may take to begin to arrive.
const START: Duration = Duration::from_secs(5);
/// How many bytes must arrive in a second on the average.
const RATE: usize = 1 << 20;
/// How long any body may take.
const LONGEST: Duration = Duration::from_secs(30);
/// Bodies that have been arriving for longer make way for others.
const LONG: Duration = Duration::from_millis(500);
/// How long a whole body waits for room.
const WAIT: Duration = Duration::from_secs(2);
/// What a value of a review takes in addition to its text, roughly.
const VALUE: usize = 48;

/// See the module page.
pub struct BodyReader {
    /// The largest body.
    largest: usize,
    /// How many bytes may be held in all.
    most: usize,
    /// How many bodies may be arriving.
    arriving: usize,
    held: Mutex<Held>,
    released: Notify,
}

#[derive(Default)]
struct Held {
    bytes: usize,
    next: u64,
    /// Bodies that are arriving, by age.
    arriving: BTreeMap<u64, Arriving>,
}

struct Arriving {
    since: Instant,
    bytes: usize,
    evict: Arc<Notify>,
}

/// A whole body, and its part of what may be held.
pub struct RequestBody {
    /// The body.
    pub bytes: Bytes,
    _room: Room,
}

/// Bytes that are given back when it is dropped.
struct Room {
    intake: Arc<BodyReader>,
    bytes: usize,
}

impl Drop for Room {
    fn drop(&mut self) {
        if self.bytes > 0 {
            let mut held = self.intake.held();
            held.bytes = held.bytes.saturating_sub(self.bytes);
            drop(held);
            self.intake.released.notify_waiters();
        }
    }
}

/// A body that is arriving.
struct Ticket {
    intake: Arc<BodyReader>,
    number: u64,
    /// How large the client said it is: the first bytes of a large body are not a small one.
    declared: usize,
    evict: Arc<Notify>,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut held = self.intake.held();
        if let Some(arriving) = held.arriving.remove(&self.number) {
            held.bytes = held.bytes.saturating_sub(arriving.bytes);
        }
    }
}

fn no_room() -> Undecodable {
    Undecodable::new(429, "too many bytes of reviews are under way; try again")
}

impl BodyReader {
    /// Limits: of a body, of all together, and of how many may be arriving.
    pub fn new(largest: usize, most: usize, arriving: usize) -> BodyReader {
        let most = most.max(largest);
        BodyReader { largest, most, arriving, held: Mutex::default(), released: Notify::new() }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many bodies are arriving, and how many bytes are held for bodies.
    pub fn now(&self) -> (usize, usize) {
        let held = self.held();
        (held.arriving.len(), held.bytes)
    }

    /// Reads a body.
    ///
    /// # Errors
    /// It is too large or too slow, it cannot be read, or there is no room for it.
    pub async fn read(
        self: &Arc<Self>,
        headers: &HeaderMap,
        mut body: Body,
        due: Instant,
    ) -> Result<RequestBody, Undecodable> {
        let largest = self.largest;
        let too_large = || Undecodable::new(413, format!("the body is larger than {largest} bytes"));
        let declared = headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok());
        let declared = declared.and_then(|v| v.parse::<usize>().ok()).unwrap_or_default();
        if declared > largest {
            return Err(too_large());
        }
        let began = Instant::now();
        let mut chunks: Vec<Bytes> = Vec::new();
        let mut size = 0usize;
        let mut ticket: Option<Ticket> = None;
        loop {
            let ready = body.frame().now_or_never();
            let frame = match (ready, &ticket) {
                (Some(frame), _) => frame,
                (None, None) => {
                    ticket = Some(self.enter(size, declared)?);
                    continue;
                }
                (None, Some(ticket)) => {
                    let latest = (began + patience(size)).min(due.max(began + Duration::from_secs(1)));
                    tokio::select! {
                        frame = tokio::time::timeout_at(latest.into(), body.frame()) => {
                            frame.map_err(|_| Undecodable::new(408, "the body did not arrive in time"))?
                        }
                        () = ticket.evict.notified() => return Err(no_room()),
                    }
                }
            };
            let frame = match frame {
                None => break,
                Some(Err(e)) => return Err(Undecodable::new(400, format!("the body cannot be read: {e}"))),
                Some(Ok(frame)) => frame,
            };
            if let Ok(data) = frame.into_data() {
                size = size.saturating_add(data.len());
                if size > largest {
                    return Err(too_large());
                }
                let is_whole = body.is_end_stream();
                match &ticket {
                    Some(ticket) if !(is_whole && size <= SMALL) => self.grow(ticket, data.len())?,
                    None if size > SMALL => ticket = Some(self.enter(size, declared)?),
                    _ => {}
                }
                chunks.push(data);
                if is_whole {
                    break;
                }
            }
        }
        // From here on the body counts as a whole.
        drop(ticket);
        let room = if size <= SMALL { 0 } else { size };
        let mut taken = Room { intake: self.clone(), bytes: 0 };
        if room > 0 {
            taken.bytes = self.wait(size, due).await?;
        }
        let bytes = match <[Bytes; 1]>::try_from(chunks) {
            Ok([bytes]) => bytes,
            Err(chunks) => chunks.concat().into(),
        };
        if room > 0 {
            let values = bytes.iter().filter(|b| matches!(b, b',' | b'[' | b'{' | b':')).count();
            let more = values.saturating_mul(VALUE).min((self.most / 2).saturating_sub(size));
            taken.bytes += self.wait(more, due).await?;
        }
        Ok(RequestBody { bytes, _room: taken })
    }

    /// Notes a body that is arriving, of which the client said how large it will be.
    fn enter(self: &Arc<Self>, size: usize, declared: usize) -> Result<Ticket, Undecodable> {
        let evict = Arc::new(Notify::new());
        let mut held = self.held();
        // A body that comes at once is never the oldest.
        held.evict(Duration::ZERO, |held| held.arriving.len() < self.arriving);
        if size > 0 && !held.has_room(size, self.limit(size.max(declared))) {
            return Err(no_room());
        }
        let number = held.next;
        held.next += 1;
        held.bytes += size;
        let arriving = Arriving { since: Instant::now(), bytes: size, evict: evict.clone() };
        held.arriving.insert(number, arriving);
        drop(held);
        Ok(Ticket { intake: self.clone(), number, declared, evict })
    }

    /// Notes more bytes of a body.
    fn grow(&self, ticket: &Ticket, bytes: usize) -> Result<(), Undecodable> {
        let mut held = self.held();
        // It does not make way for itself.
        let Some(mut own) = held.arriving.remove(&ticket.number) else { return Err(no_room()) };
        let has_room = held.has_room(bytes, self.limit(ticket.declared.max(own.bytes + bytes)));
        if has_room {
            own.bytes += bytes;
            held.bytes += bytes;
        }
        held.arriving.insert(ticket.number, own);
        if has_room { Ok(()) } else { Err(no_room()) }
    }

    /// How many bytes may be held so that there is room for a body: some are reserved for small
    /// ones.
    fn limit(&self, size: usize) -> usize {
        if size <= SMALL { self.most + self.most / 8 } else { self.most }
    }

    /// Takes room for a whole body, and waits for it while others are answered.
    async fn wait(&self, bytes: usize, due: Instant) -> Result<usize, Undecodable> {
        let latest = due.min(Instant::now() + WAIT);
        loop {
            let released = self.released.notified();
            tokio::pin!(released);
            released.as_mut().enable();
            {
                let mut held = self.held();
                if held.has_room(bytes, self.most) {
                    held.bytes += bytes;
                    return Ok(bytes);
                }
            }
            if tokio::time::timeout_at(latest.into(), released).await.is_err() {
                return Err(no_room());
            }
        }
    }
}

impl Held {
    /// Whether there is room, or some that have been arriving for long have made it.
    fn has_room(&mut self, bytes: usize, most: usize) -> bool {
        let fits = |held: &mut Held| held.bytes.saturating_add(bytes) <= most;
        fits(self) || self.evict(LONG, fits)
    }

    /// Gives up bodies that have been arriving for a while, the oldest first, until there is what
    /// is needed.
    fn evict(&mut self, after: Duration, enough: impl Fn(&mut Held) -> bool) -> bool {
        while !enough(self) {
            match self.arriving.first_key_value() {
                Some((_, oldest)) if oldest.since.elapsed() >= after => {}
                _ => return false,
            }
            let Some((_, oldest)) = self.arriving.pop_first() else { return false };
            self.bytes = self.bytes.saturating_sub(oldest.bytes);
            oldest.evict.notify_one();
        }
        true
    }
}

/// How long a body of which so much has arrived may take.
fn patience(size: usize) -> Duration {
    (START + Duration::from_secs_f64(size as f64 / RATE as f64)).min(LONGEST)
}
