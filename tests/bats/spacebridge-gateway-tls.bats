# spacebridge gateway with a certificate: TLS before its lines and its requests.
# shellcheck shell=bats disable=SC2016,SC2030,SC2031,SC2034,SC2119,SC2154
load helper
load gateway

# certificate NAME: NAME.pem and NAME.key, for 127.0.0.1.
certificate() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" \
		-addext subjectAltName=IP:127.0.0.1 -keyout "$W/$1.key" -out "$W/$1.pem" 2>/dev/null
	chmod 0600 "$W/$1.key"
}

# secure MODE [OPTION...]: all of it, the gateway with TLS on port $AT, beyond loopback too.
secure() {
	if [ "$1" = web ]; then
		web_service
	else
		start_vmm
		install
		service "$1"
	fi
	certificate gateway
	configure "tls_cert = $W/gateway.pem" "tls_key = $W/gateway.key"
	AT=$(free_port)
	start_gateway --listen "tcp:0.0.0.0:$AT" "${@:2}"
}

# refused_start WORDS: the gateway does not start as it is configured, and says so.
refused_start() {
	run timeout 60 spacebridge gateway s-42 --keys "$W/key.public" --listen tcp:127.0.0.1:1
	assert_output --partial "$1"
}

# client: what socat gives to and takes from TLS.
client() { timeout 60 socat -t 60 - "OPENSSL:127.0.0.1:$AT,cafile=$W/gateway.pem"; }

# holds FILE SIZE: are so many bytes in it by now, behind its first line?
holds() { [ "$(tail -n +2 "$1" 2>/dev/null | wc -c)" -ge "$2" ]; }

# served: who connects now is served.
served() {
	run client < <(line tcp "$(mint tcp)"; echo; echo hello)
	assert_success
	opened
	assert_line --index 1 hello
}

@test "bytes go both ways inside TLS, whole, and close_notify is the end of one direction alone" {
	secure late
	head -c 3000000 /dev/urandom >"$W/in"
	run client < <(line tcp "$(mint tcp)"; echo; cat "$W/in")
	assert_success
	opened
	assert_line --index 1 '3000000 bytes'
	{
		echo accepted
		cat "$W/in"
	} | cmp - "$W/service.log"
	eventually has "$AUDIT" closed
	run jq -r .note "$AUDIT"
	assert_line --index 1 "lease $lease closed: both sides ended"
}

@test "openssl takes a large answer in line mode, with 1.2 and 1.3, and nothing older is spoken" {
	# Whatever this machine's own configuration of OpenSSL would allow.
	printf '%s\n' 'openssl_conf = a' '[a]' 'ssl_conf = b' '[b]' 'system_default = c' '[c]' 'MinProtocol = TLSv1' \
		'CipherString = ALL:@SECLEVEL=0' >"$W/openssl.cnf"
	export OPENSSL_CONF=$W/openssl.cnf
	secure echo
	head -c 300000 /dev/zero | tr '\0' x >"$W/in"
	for version in -tls1_2 -tls1_3; do
		mkfifo "$W/in$version"
		openssl s_client -quiet "$version" -verify_return_error -CAfile "$W/gateway.pem" -connect "127.0.0.1:$AT" \
			<"$W/in$version" >"$W/out$version" 2>"$W/err" 3>&- &
		pid=$!
		exec 7>"$W/in$version"
		{
			line tcp "$(mint tcp)"
			echo
			cat "$W/in"
		} >&7
		eventually holds "$W/out$version" 300000
		kill "$pid"
		exec 7>&-
		wait "$pid" || true
		run cat "$W/out$version"
		opened
		assert_equal "$(tail -n +2 "$W/out$version" | head -c 300000 | cmp - "$W/in" && echo same)" same
	done
	run openssl s_client -tls1_1 -cipher ALL:@SECLEVEL=0 -connect "127.0.0.1:$AT" </dev/null
	assert_failure
	assert_output --partial 'protocol version'
}

@test "curl speaks --http, and http/1.1 is what is agreed on" {
	secure web --http
	head -c 300000 /dev/zero | tr '\0' x >"$W/in"
	run timeout 60 curl -sSv --http2 --cacert "$W/gateway.pem" -H "Authorization: Bearer $(mint http)" \
		"https://127.0.0.1:$AT/a" "https://127.0.0.1:$AT/b"
	assert_success
	assert_output --partial 'server accepted http/1.1'
	assert_line '1:/a'
	assert_line '1:/b'
	timeout 60 curl -sS --cacert "$W/gateway.pem" -H "Authorization: Bearer $(mint http)" --data-binary "@$W/in" \
		"https://127.0.0.1:$AT/chunked" | cmp - "$W/in"
	# An answer without a length is whole only with close_notify.
	run timeout 60 curl -sS --cacert "$W/gateway.pem" -H "Authorization: Bearer $(mint http)" "https://127.0.0.1:$AT/close"
	assert_success
	assert_output --partial ':/close'
	run timeout 60 curl -sS --cacert "$W/gateway.pem" -w '%{http_code}\n' -o /dev/null "https://127.0.0.1:$AT/"
	assert_output 401
}

@test "whoever speaks no TLS, or offers another protocol, is not served, and others are" {
	secure echo
	run timeout 60 socat -t 60 - "TCP:127.0.0.1:$AT" < <(line tcp "$(mint tcp)"; echo)
	refute_output --partial status
	run openssl s_client -alpn h2 -connect "127.0.0.1:$AT" </dev/null
	assert_failure
	assert_output --partial 'no application protocol'
	certificate stranger
	run timeout 60 curl -sS --cacert "$W/stranger.pem" "https://127.0.0.1:$AT/"
	assert_failure 60
	assert_no_byte
	served
}

@test "a handshake has connect_timeout_ms" {
	PATIENCE=400
	secure echo
	run timeout 60 socat -t 60 -u "TCP:127.0.0.1:$AT" -
	assert_output ''
	[ "$status" -ne 124 ] || fail "the gateway still waits"
	assert_no_byte
}

@test "a new execution cuts what is open, and the client sees no orderly end" {
	secure echo
	mkfifo "$W/hold"
	client <"$W/hold" >"$W/out" 2>"$W/err" 3>&- &
	pid=$!
	exec 7>"$W/hold"
	{
		line tcp "$(mint tcp)"
		echo
		echo hello
	} >&7
	eventually has "$W/out" hello
	install '.execution = 8'
	status=0
	wait "$pid" || status=$?
	exec 7>&-
	assert_equal "$status" 1
	eventually has "$AUDIT" ' cut'
}

@test "a client that is lost without close_notify does not look complete to the guest" {
	secure late
	mkfifo "$W/hold"
	socat -t 60 - "OPENSSL:127.0.0.1:$AT,cafile=$W/gateway.pem" <"$W/hold" >"$W/out" 2>"$W/err" 3>&- &
	pid=$!
	exec 7>"$W/hold"
	{
		line tcp "$(mint tcp)"
		echo
		echo hello
	} >&7
	eventually has "$W/service.log" hello
	kill -9 "$pid"
	wait "$pid" || true
	exec 7>&-
	eventually has "$W/service.log" reset
	eventually has "$AUDIT" 'the client is gone'
	run jq -r .note "$AUDIT"
	assert_line --index 1 --partial 'closed: the client is gone'
}

# named NAME: returns once this certificate is what a client gets.
named() {
	await eval "openssl s_client -connect '127.0.0.1:$AT' </dev/null 2>/dev/null | grep -q 'CN = $1'"
}

# failures: how often it has said that it could not.
failures() { grep -c 'the certificate before stays in use' "$BATS_TEST_TMPDIR/gateway.err" || true; }

@test "certificate and key that were renewed are noticed, files replaced or links swapped, and what is not of each other waits" {
	secure echo
	certificate other
	mv "$W/other.pem" "$W/gateway.pem"
	await eval '[ "$(failures)" -ge 1 ]'
	named gateway
	mv "$W/other.key" "$W/gateway.key"
	named other
	for name in one two; do
		mkdir "$W/$name"
		certificate "$name"
		mv "$W/$name.pem" "$W/$name/pem"
		mv "$W/$name.key" "$W/$name/key"
	done
	mkdir "$W/links"
	ln -s ../one "$W/links/live"
	configure "tls_cert = $W/links/live/pem" "tls_key = $W/links/live/key"
	named one
	ln -s ../two "$W/links/new"
	mv -T "$W/links/new" "$W/links/live"
	named two
}

@test "another certificate counts from SIGHUP on too, and one that cannot be read changes nothing" {
	secure echo
	openssl req -x509 -key "$W/gateway.key" -days 2 -subj /CN=other -out "$W/other.pem"
	# What is swapped behind a link that a link points to is not watched.
	mkdir "$W/far" "$W/near"
	ln -s ../near/pem "$W/far/pem"
	ln -s ../gateway.pem "$W/near/pem"
	configure "tls_cert = $W/far/pem" "tls_key = $W/gateway.key"
	stop gateway
	start_gateway --listen "tcp:0.0.0.0:$AT"
	named gateway
	ln -sf ../other.pem "$W/near/pem"
	kill -HUP "$(cat "$BATS_TEST_TMPDIR/gateway.pid")"
	named other
	ln -sf ../none.pem "$W/near/pem"
	kill -HUP "$(cat "$BATS_TEST_TMPDIR/gateway.pid")"
	await grep -q 'reload failed, the values before stay in use' "$BATS_TEST_TMPDIR/gateway.err"
	named other
}

@test "a key that others may read, a file that is missing, and one without the other are refused" {
	certificate gateway
	certificate other
	configure "tls_cert = $W/gateway.pem" "tls_key = $W/gateway.key"
	chmod 0644 "$W/gateway.key"
	refused_start 'gateway.key'
	chmod 0600 "$W/gateway.key"
	configure "tls_cert = $W/gateway.pem" "tls_key = $W/other.key"
	refused_start 'other.key: no key of the certificate: key values mismatch'
	configure "tls_cert = $W/none.pem" "tls_key = $W/gateway.key"
	refused_start 'none.pem: '
	configure "tls_cert = $W/gateway.key" "tls_key = $W/gateway.key"
	refused_start 'no certificate chain in PEM'
	configure "tls_cert = $W/gateway.pem"
	refused_start 'both or, from its start, neither'
	assert_failure 2
}
