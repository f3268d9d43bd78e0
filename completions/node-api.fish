# fish completion for node-api; generated from its table by `make completions`
function __fish_node-api_after
	set -l words (commandline -opc)[2..-1]
	set -l count (count $argv)
	test "$words[1..$count]" = "$argv"
end
function __fish_node-api_at
	set -l words (commandline -opc)[2..-1]
	test "$words" = "$argv"
end
function __fish_node-api_sandboxes
	begin
		spaceid list -o json
		spacerouted list -o json
	end 2>/dev/null |
		sed -n 's/.*"sandbox":"\\([^"]*\\)".*/\\1/p' | sort -u
end
function __fish_node-api_leases
	spacestream list -o json 2>/dev/null |
		sed -n 's/.*"lease":"\\([^"]*\\)".*/\\1/p'
end
complete -c node-api -f
complete -c node-api -l config -s c -r -F -d 'the configuration (default: $SPACE_CONFIG, /etc/space/space.ini)'
complete -c node-api -l peer -d 'the caller is whoever is at the other end of standard input, a connected Unix socket'
complete -c node-api -l token-file -r -F -d 'the caller is the owner of the token in FILE'
complete -c node-api -l agent -r -F -d 'capabilities are signed by the signer that listens there (default: by the key of the configuration)'
complete -c node-api -l window -x -d 'requests in flight (default: 1)'
complete -c node-api -l http -d 'as the first option: be a server instead, over HTTP, of the same path in one process; the other options are those of `spacestream serve`'
complete -c node-api -l help -s h -d 'this text'
