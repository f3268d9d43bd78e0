#!/bin/bash
# http.sh DIR: for bench_http, what stands still: a configuration with keys, routes and a token in DIR, and a
# configuration of nginx that proxies to a Unix socket. Prints the token.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
PATH=$root/build/bin:$PATH
dir=$1
export SPACE_CONFIG=$dir/space.ini

mkdir -p "$dir"/{run,state,nginx}
printf '%s\n' '[space]' "state_dir = $dir/state" "run_dir = $dir/run" '[keys]' "secret = $dir/key" '[audit]' "file = $dir/audit" >"$SPACE_CONFIG"
spacecap keygen -o "$dir/key" >/dev/null
spacerouted publish --sandbox s-42 --execution 7 --worker worker-a --substrate host --activation act-7 --attempt 1 \
	--endpoint "unix:$dir/manager" >/dev/null
spacerouted grant -p "uid:$(id -u)" -s s-42 --ops ping >/dev/null
spacerouted grant -p token:bench -s s-42 --ops ping --token-file "$dir/token" >/dev/null
cat >"$dir/nginx.conf" <<END
$([ "$(id -u)" != 0 ] || echo 'user root;')
daemon off;
worker_processes 1;
pid $dir/nginx/pid;
error_log $dir/nginx/error;
events { worker_connections 1024; }
http {
	access_log off;
	client_body_temp_path $dir/nginx/body;
	proxy_temp_path $dir/nginx/proxy;
	fastcgi_temp_path $dir/nginx/fastcgi;
	uwsgi_temp_path $dir/nginx/uwsgi;
	scgi_temp_path $dir/nginx/scgi;
	keepalive_requests 100000000;
	upstream backend {
		server unix:$dir/backend;
		keepalive 64;
		keepalive_requests 100000000;
	}
	server {
		listen unix:$dir/nginx.sock;
		location / {
			proxy_pass http://backend;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
		}
	}
}
END
cat "$dir/token"
