# Fastly in front of a content host of one wispr site: custom VCL, uploaded as the main file of a service that has the content host as its backend.
#
# It keeps ciphertext; readers check every byte, so what matters here is what must not be changed: media type, header fields, whole and in
# ranges. Leave automatic compression and image optimizing off. New publications are visible after a minute; to have them at once, purge
# /.well-known/wispr/timestamp.json: curl -X PURGE https://news.example/.well-known/wispr/timestamp.json

sub vcl_recv {
#FASTLY recv
  if (req.method != "GET" && req.method != "HEAD" && req.method != "FASTLYPURGE") {
    error 405 "Method Not Allowed";
  }
  # The content depends on neither, and one representation serves everybody.
  unset req.http.Cookie;
  unset req.http.Authorization;
  unset req.http.Accept-Encoding;
  # Objects never change under their name, so they can be kept in pieces: without this, nothing above 20 MB goes through.
  # They do not depend on the query. Everything else does: redirects carry it on.
  if (req.url.path ~ "/[0-9a-f]{64}\.[^/]*$") {
    set req.enable_segmented_caching = true;
    set req.url = req.url.path;
  }
  return(lookup);
}

sub vcl_fetch {
#FASTLY fetch
  # A cookie would make the answer uncacheable, and readers drop it anyway.
  unset beresp.http.Set-Cookie;
  # A name that does not exist now may be published in a minute.
  if (beresp.status == 404 || beresp.status == 410) {
    set beresp.ttl = 10s;
  }
  # A copy that is too old makes readers wait for nothing: no more than a minute of it. If the content host is down, they check how old it is.
  set beresp.stale_while_revalidate = 0s;
  set beresp.stale_if_error = 604800s;
  return(deliver);
}

sub vcl_deliver {
#FASTLY deliver
  # For the in-browser reader, whatever the content host says: it fetches in pages of another host, without cookies or credentials.
  set resp.http.Access-Control-Allow-Origin = "*";
  set resp.http.Access-Control-Expose-Headers = "Content-Length, Content-Range, ETag";
  return(deliver);
}
