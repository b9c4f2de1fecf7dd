//! Servers that send scripted bytes.

use std::sync::mpsc;
use std::thread;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What a server does after its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It closes the connection.
    Closes,
    /// It keeps the connection open.
    Hangs,
    /// It resets the connection.
    Resets,
}

/// A server that sends one of these responses per connection; returns its URL, and a task that ends with the requests.
pub async fn server<R>(responses: Vec<(R, Then)>) -> (String, JoinHandle<Vec<String>>)
where
    R: AsRef<[u8]> + Send + Sync + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let requests = tokio::spawn(async move {
        let mut requests = Vec::new();
        for (response, then) in responses {
            let (mut stream, _) = listener.accept().await.unwrap();
            requests.push(serve(&mut stream, response.as_ref()).await);
            end(stream, then).await;
        }
        requests
    });
    (url, requests)
}

/// [`server`] for a test without a runtime.
pub fn server_in_thread(
    responses: Vec<(String, Then)>,
) -> (String, thread::JoinHandle<Vec<String>>) {
    let (sender, url) = mpsc::channel();
    let requests = in_runtime(async move {
        let (url, requests) = server(responses).await;
        sender.send(url).unwrap();
        requests.await.unwrap()
    });
    (url.recv().unwrap(), requests)
}

/// A service that answers every request, for the rest of the test; returns its URL.
pub fn service(answer: fn(&str) -> String) -> String {
    let (sender, url) = mpsc::channel();
    in_runtime(async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        sender.send(format!("http://{address}")).unwrap();
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let request = read_request(&mut stream).await;
                let _ = stream.write_all(answer(&request).as_bytes()).await;
            });
        }
    });
    url.recv().unwrap()
}

/// A URL at which nothing listens.
pub fn refusing_url() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

fn in_runtime<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> thread::JoinHandle<T> {
    thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(work)
    })
}

async fn end(mut stream: TcpStream, then: Then) {
    match then {
        Then::Closes => {
            let _ = stream.shutdown().await;
        }
        Then::Hangs => std::future::pending().await,
        Then::Resets => stream.set_zero_linger().unwrap(),
    }
}

/// Reads one request and sends the response.
pub async fn serve(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), response: &[u8]) -> String {
    let request = read_request(stream).await;
    stream.write_all(response).await.unwrap();
    stream.flush().await.unwrap();
    request
}

/// Reads one request with its body.
async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut request = Vec::new();
    while !is_complete(&request) {
        if stream.read_buf(&mut request).await.unwrap() == 0 {
            break;
        }
    }
    String::from_utf8_lossy(&request).into_owned()
}

/// Bytes that are not HTTP, such as those of a TLS handshake, are complete at once.
fn is_complete(request: &[u8]) -> bool {
    if request.first().is_some_and(|it| !it.is_ascii_alphabetic()) {
        return true;
    }
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.parse::<usize>().unwrap())
    });
    body.len() >= length.unwrap_or(0)
}

/// A response that closes the connection.
pub fn http_response(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )
}
