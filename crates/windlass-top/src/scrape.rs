//! A server that answers `GET /metrics`, and nothing else.
//!
//! One thread serves all connections, as it waits for none of them: each has a time limit, and of a request only the
//! first bytes are kept. A crate with a thread for each connection has neither limit (tiny_http 0.12).

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use super::exposition::CONTENT_TYPE;

/// The most connections at a time. The oldest that has not yet asked for anything gives way to a new one.
const CONNECTIONS: usize = 16;
/// The longest request. Prometheus sends some 400 bytes.
const REQUEST: usize = 8192;
const HEADERS: usize = 64;
/// The time for a request, for an answer, and for the client's own end.
const ASKING: Duration = Duration::from_secs(5);
const ANSWERING: Duration = Duration::from_secs(10);
const CLOSING: Duration = Duration::from_secs(1);
/// An answer is used again for so long.
const FRESH: Duration = Duration::from_secs(1);

/// An address that is bound. Clients that connect wait for [`Listener::serve`].
#[derive(Debug)]
pub struct Listener(TcpListener);

/// A running server.
#[derive(Debug)]
pub struct Server {
    stop: Arc<OwnedFd>,
    thread: JoinHandle<()>,
}

impl Listener {
    /// Takes the address, which fails if it is in use.
    pub fn bind(address: SocketAddr) -> io::Result<Listener> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Listener(listener))
    }

    /// The address, with the port that the kernel chose for port 0.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// Answers with what `metrics` gives, in a thread.
    pub fn serve(self, metrics: impl Fn() -> String + Send + 'static) -> io::Result<Server> {
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let told = Arc::clone(&stop);
        let thread = std::thread::Builder::new().spawn(move || run(&self.0, &told, &Page::new(metrics)))?;
        Ok(Server { stop, thread })
    }
}

impl Server {
    /// Ends it with all connections. The error says that it had failed.
    pub fn stop(self) -> Result<(), String> {
        let _ = rustix::io::write(&self.stop, &1_u64.to_ne_bytes());
        self.thread.join().map_err(|_| "the thread for scrapes failed".to_owned())
    }
}

/// The text, which is made at most once a second.
struct Page<F> {
    metrics: F,
    last: std::cell::RefCell<Option<(Instant, Arc<str>)>>,
}

impl<F: Fn() -> String> Page<F> {
    fn new(metrics: F) -> Page<F> {
        Page { metrics, last: std::cell::RefCell::default() }
    }

    fn text(&self) -> Arc<str> {
        let mut last = self.last.borrow_mut();
        match &*last {
            Some((made, text)) if made.elapsed() < FRESH => Arc::clone(text),
            _ => {
                let text: Arc<str> = (self.metrics)().into();
                *last = Some((Instant::now(), Arc::clone(&text)));
                text
            }
        }
    }
}

/// A connection, and how far it has come.
struct Connection {
    stream: TcpStream,
    until: Instant,
    state: State,
}

enum State {
    Asking(Vec<u8>),
    Answering(Answer),
    /// All is sent. Bytes that still come are read: closing with unread bytes would take the answer back (RFC 9112,
    /// 9.6).
    Closing,
}

struct Answer {
    head: Vec<u8>,
    body: Arc<str>,
    sent: usize,
}

fn run<F: Fn() -> String>(listener: &TcpListener, stop: &OwnedFd, page: &Page<F>) {
    let mut connections: Vec<Connection> = Vec::new();
    loop {
        let mut descriptors = vec![PollFd::new(stop, PollFlags::IN), PollFd::new(listener, PollFlags::IN)];
        descriptors.extend(connections.iter().map(|connection| {
            let answers = matches!(connection.state, State::Answering(_));
            PollFd::new(&connection.stream, if answers { PollFlags::OUT } else { PollFlags::IN })
        }));
        let next = connections.iter().map(|connection| connection.until).min();
        let wait = next.map(|next| next.saturating_duration_since(Instant::now()));
        let waited = poll(&mut descriptors, wait.and_then(|wait| Timespec::try_from(wait).ok()).as_ref());
        if waited.is_err_and(|errno| errno != rustix::io::Errno::INTR) {
            return;
        }
        let ready: Vec<bool> = descriptors.iter().map(|descriptor| !descriptor.revents().is_empty()).collect();
        if ready[0] {
            return;
        }
        let mut ready_ones = ready[2..].iter();
        connections.retain_mut(|connection| {
            let is_ready = ready_ones.next() == Some(&true);
            connection.until > Instant::now() && (!is_ready || connection.go_on(page).is_ok())
        });
        if ready[1] {
            accept(listener, &mut connections);
        }
    }
}

fn accept(listener: &TcpListener, connections: &mut Vec<Connection>) {
    let stream = match listener.accept() {
        Ok((stream, _)) => stream,
        Err(error) => {
            // Without a descriptor to spare, the connection stays in the queue, and poll would return at once.
            if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionAborted) {
                std::thread::sleep(Duration::from_millis(100));
            }
            return;
        }
    };
    if stream.set_nonblocking(true).is_err() {
        return;
    }
    if connections.len() >= CONNECTIONS {
        let idle = connections.iter().position(|connection| !matches!(connection.state, State::Answering(_)));
        let Some(idle) = idle else { return };
        connections.remove(idle);
    }
    let until = Instant::now() + ASKING;
    connections.push(Connection { stream, until, state: State::Asking(Vec::new()) });
}

impl Connection {
    /// Reads or writes as much as it can without waiting. An error: the connection is over.
    fn go_on<F: Fn() -> String>(&mut self, page: &Page<F>) -> io::Result<()> {
        loop {
            let next = match &mut self.state {
                State::Asking(request) => {
                    let mut buffer = [0; 1024];
                    let count = match self.stream.read(&mut buffer) {
                        Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                        Ok(count) => count,
                        Err(error) => return unless_later(error),
                    };
                    request.extend_from_slice(&buffer[..count]);
                    match answer(request, page) {
                        None => continue,
                        Some(answer) => {
                            self.until = Instant::now() + ANSWERING;
                            State::Answering(answer)
                        }
                    }
                }
                State::Answering(answer) => {
                    let rest = match answer.sent.checked_sub(answer.head.len()) {
                        None => &answer.head[answer.sent..],
                        Some(sent) => &answer.body.as_bytes()[sent..],
                    };
                    if rest.is_empty() {
                        self.stream.shutdown(Shutdown::Write)?;
                        self.until = Instant::now() + CLOSING;
                        State::Closing
                    } else {
                        match self.stream.write(rest) {
                            Ok(count) => answer.sent += count,
                            Err(error) => return unless_later(error),
                        }
                        continue;
                    }
                }
                State::Closing => match self.stream.read(&mut [0; 1024]) {
                    Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                    // Once for each poll: a client that sends without end must not keep the others waiting.
                    Ok(_) => return Ok(()),
                    Err(error) => return unless_later(error),
                },
            };
            self.state = next;
        }
    }
}

fn unless_later(error: io::Error) -> io::Result<()> {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::Interrupted => Ok(()),
        _ => Err(error),
    }
}

/// The answer to a request; `None` while it is incomplete.
fn answer<F: Fn() -> String>(request: &[u8], page: &Page<F>) -> Option<Answer> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let answer = match parsed.parse(request) {
        Ok(httparse::Status::Partial) if request.len() < REQUEST => return None,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            Answer::error("431 Request Header Fields Too Large", "")
        }
        Err(_) => Answer::error("400 Bad Request", ""),
        Ok(httparse::Status::Complete(_)) => {
            let path = parsed.path.unwrap_or_default().split('?').next();
            match (parsed.method.unwrap_or_default(), path) {
                ("GET", Some("/metrics")) => Answer::new("200 OK", CONTENT_TYPE, "", page.text(), true),
                ("HEAD", Some("/metrics")) => Answer::new("200 OK", CONTENT_TYPE, "", page.text(), false),
                ("GET" | "HEAD", _) => Answer::error("404 Not Found", ""),
                _ => Answer::error("405 Method Not Allowed", "Allow: GET, HEAD\r\n"),
            }
        }
    };
    Some(answer)
}

impl Answer {
    fn new(status: &str, content_type: &str, more: &str, body: Arc<str>, has_body: bool) -> Answer {
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n{more}Connection: \
             close\r\n\r\n"
        );
        Answer { head: head.into(), body: if has_body { body } else { "".into() }, sent: 0 }
    }

    fn error(status: &str, more: &str) -> Answer {
        Answer::new(status, "text/plain; charset=utf-8", more, format!("{status}\n").into(), true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(request: &[u8]) -> Option<String> {
        let answer = answer(request, &Page::new(|| "metrics".to_owned()))?;
        Some(String::from_utf8(answer.head).unwrap() + &answer.body)
    }

    #[test]
    fn requests_and_their_answers() {
        for (request, status, body) in [
            ("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "200", "metrics"),
            ("GET /metrics?a=b HTTP/1.0\r\n\r\n", "200", "metrics"),
            ("HEAD /metrics HTTP/1.1\r\n\r\n", "200", ""),
            ("GET / HTTP/1.1\r\n\r\n", "404", "404 Not Found\n"),
            ("GET /metrics/../metrics HTTP/1.1\r\n\r\n", "404", "404 Not Found\n"),
            ("POST /metrics HTTP/1.1\r\nContent-Length: 5\r\n\r\n", "405", "405 Method Not Allowed\n"),
            ("\x16\x03\x01\x02\x00", "400", "400 Bad Request\n"),
            ("GET /metrics HTTP/9\r\n\r\n", "400", "400 Bad Request\n"),
        ] {
            let answer = head(request.as_bytes()).unwrap();
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request:?}: {answer}");
            assert!(answer.ends_with(&format!("\r\n\r\n{body}")), "{request:?}: {answer}");
        }
    }

    #[test]
    fn a_request_has_a_size() {
        let start = b"GET /metrics HTTP/1.1\r\n".to_vec();
        for length in 0..start.len() {
            assert!(head(&start[..length]).is_none(), "{length}");
        }
        let mut long = start.clone();
        long.extend(b"X: ".iter().chain([b'y'; REQUEST].iter()));
        assert!(head(&long[..REQUEST - 1]).is_none());
        assert!(head(&long[..REQUEST]).unwrap().contains(" 431 "));
        let mut many = start;
        many.extend(b"X: y\r\n".repeat(HEADERS + 1));
        assert!(head(&many).unwrap().contains(" 431 "));
    }

    #[test]
    fn idle_connections_give_way() {
        let listener = Listener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.address().unwrap();
        assert_eq!(Listener::bind(address).unwrap_err().kind(), ErrorKind::AddrInUse);
        let server = listener.serve(|| "metrics".to_owned()).unwrap();
        let mut idle: Vec<_> = (0..2 * CONNECTIONS).map(|_| TcpStream::connect(address).unwrap()).collect();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert!(text.ends_with("\r\n\r\nmetrics"), "{text}");
        // The first of them was closed without an answer.
        assert!(matches!(idle[0].read(&mut [0]), Ok(0) | Err(_)));
        server.stop().unwrap();
        assert!(TcpStream::connect(address).is_err());
    }
}
