# Varnish as the shared cache in front of the content host of one wispr site.
#
#   {{command}}
#
# It sees ciphertext, and what it returns is checked by every reader; there is nothing secret here and nothing to trust.
# docs/caches.md explains the choices. Varnish 7 or newer.
vcl 4.1;

import std;

backend origin {
  .host = "{{backendHost}}";
  .port = "{{backendPort}}";
  .connect_timeout = 5s;
  .first_byte_timeout = 30s;
  .between_bytes_timeout = 30s;
}

sub vcl_recv {
  # No PURGE and no BAN over HTTP: behind a TLS terminator on this machine, every client would look like loopback.
  # Use varnishadm, or wait: nothing is kept longer than its max-age.
  if (req.method != "GET" && req.method != "HEAD") {
    return (synth(405, "Method Not Allowed"));
  }
  # Varnish does not cache a request with one of these, and the content depends on neither: access depends on the key.
  unset req.http.Cookie;
  unset req.http.Authorization;
  # The built-in rules follow: a request without a host is refused, the host is written in lower case.
}

sub vcl_hash {
  # The content host ignores queries, so "?from=newsletter" is not another document. Only its redirects carry the query on,
  # and those are not kept (see below).
  hash_data(regsub(req.url, "\?.*$", ""));
  hash_data(req.http.host);
  return (lookup);
}

sub vcl_backend_fetch {
  # One representation for all clients: Varnish would ask for gzip of its own accord, and unpack it for some.
  unset bereq.http.Accept-Encoding;
  # The content host does not learn who reads.
  unset bereq.http.X-Forwarded-For;
  unset bereq.http.Via;
}

sub vcl_backend_response {
  # A cookie would make the answer uncacheable, and readers drop it anyway.
  unset beresp.http.Set-Cookie;
  # Redirects (to the reading site, or to the directory with its slash) depend on the query, which the hash leaves out.
  if (beresp.status >= 300 && beresp.status < 400 && beresp.status != 304) {
    return (pass(10s));
  }
  # What would push everything else out is handed through; further requests for it keep their Range.
  if (std.integer(beresp.http.Content-Length, 0) > {{largestObjectBytes}}) {
    return (pass(1h));
  }
  # A name that does not exist now may be published in a minute.
  if (beresp.status == 404 || beresp.status == 410) {
    set beresp.ttl = 10s;
  }
  # A failing content host is no reason to forget a good copy.
  if (beresp.status >= 500 && bereq.is_bgfetch) {
    return (abandon);
  }
  # Shortly after expiry the old copy is still given out while one request fetches the new one. Kept short, because readers
  # refuse what is too old, and then the cache was of no use.
  set beresp.grace = {{graceSeconds}}s;
  # After that the copy still saves the transfer, if its ETag is still the current one.
  set beresp.keep = 1h;
  # The built-in rules follow: no-store, private and the like stay uncached.
}

sub vcl_deliver {
  # For the in-browser reader, whatever the content host says: it fetches in pages of another host, without cookies or credentials, and a range
  # of bytes needs no question beforehand (OPTIONS, answered 405 here) in browsers of today; older ones cannot seek in films.
  set resp.http.Access-Control-Allow-Origin = "*";
  set resp.http.Access-Control-Expose-Headers = "Content-Length, Content-Range, ETag";
  # For people who look with curl, and for tests.
  if (obj.hits > 0) {
    set resp.http.X-Cache = "HIT";
  } else {
    set resp.http.X-Cache = "MISS";
  }
  unset resp.http.X-Varnish;
  unset resp.http.Via;
}
