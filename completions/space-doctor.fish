# fish completion for space-doctor; generated from its table by `make completions`
function __fish_space-doctor_after
	set -l words (commandline -opc)[2..-1]
	set -l count (count $argv)
	test "$words[1..$count]" = "$argv"
end
function __fish_space-doctor_at
	set -l words (commandline -opc)[2..-1]
	test "$words" = "$argv"
end
function __fish_space-doctor_sandboxes
	begin
		spaceid list -o json
		spacerouted list -o json
	end 2>/dev/null |
		sed -n 's/.*"sandbox":"\\([^"]*\\)".*/\\1/p' | sort -u
end
function __fish_space-doctor_leases
	spacestream list -o json 2>/dev/null |
		sed -n 's/.*"lease":"\\([^"]*\\)".*/\\1/p'
end
complete -c space-doctor -f
complete -c space-doctor -l config -s c -r -F -d 'the configuration (default: $SPACE_CONFIG, /etc/space/space.ini)'
complete -c space-doctor -l role -x -a 'node control all' -d 'what this machine is (default: what is configured or there)'
complete -c space-doctor -l routes -r -F -d 'on a node whose registry is elsewhere: what `spacerouted list -o json` said there'
complete -c space-doctor -l timeout -x -d 'how long each tool that is asked may take (default: 20)'
complete -c space-doctor -l output -s o -x -a 'json table' -d 'a JSON object a line; else words, on a terminal in colours and 80 columns'
complete -c space-doctor -l color -x -a 'auto always never' -d '(NO_COLOR is heeded)'
complete -c space-doctor -l quiet -s q -d 'no line for what is well'
complete -c space-doctor -l help -s h -d 'this text'
