# fish completion for space-keys; generated from its table by `make completions`
function __fish_space-keys_after
	set -l words (commandline -opc)[2..-1]
	set -l count (count $argv)
	test "$words[1..$count]" = "$argv"
end
function __fish_space-keys_at
	set -l words (commandline -opc)[2..-1]
	test "$words" = "$argv"
end
function __fish_space-keys_sandboxes
	begin
		spaceid list -o json
		spacerouted list -o json
	end 2>/dev/null |
		sed -n 's/.*"sandbox":"\\([^"]*\\)".*/\\1/p' | sort -u
end
function __fish_space-keys_leases
	spacestream list -o json 2>/dev/null |
		sed -n 's/.*"lease":"\\([^"]*\\)".*/\\1/p'
end
complete -c space-keys -f
complete -c space-keys -l config -s c -r -F -d 'the configuration (default: $SPACE_CONFIG, /etc/space/space.ini)'
complete -c space-keys -l help -s h -d 'this text'
complete -c space-keys -F
