# fish completion for netgtw; generated from its table by `make completions`
function __fish_netgtw_after
	set -l words (commandline -opc)[2..-1]
	set -l count (count $argv)
	test "$words[1..$count]" = "$argv"
end
function __fish_netgtw_at
	set -l words (commandline -opc)[2..-1]
	test "$words" = "$argv"
end
function __fish_netgtw_sandboxes
	begin
		spaceid list -o json
		spacerouted list -o json
	end 2>/dev/null |
		sed -n 's/.*"sandbox":"\\([^"]*\\)".*/\\1/p' | sort -u
end
function __fish_netgtw_leases
	spacestream list -o json 2>/dev/null |
		sed -n 's/.*"lease":"\\([^"]*\\)".*/\\1/p'
end
complete -c netgtw -f
complete -c netgtw -l sandbox -s s -x -a '(__fish_netgtw_sandboxes)' -d 'whose gateway this is, if not the argument'
complete -c netgtw -l listen -s l -x -d 'unix:PATH or, on loopback, tcp:HOST:PORT (default: [gateway] listen)'
complete -c netgtw -l http -d 'serve HTTP/1: each request is admitted by itself (default: [gateway] http)'
complete -c netgtw -l records -x -a '(__fish_complete_directories)' -d 'runtime records (default: records under [space] state_dir)'
complete -c netgtw -l keys -r -F -d 'bundle directory, public key file or k4.public key (default: [keys] bundle)'
complete -c netgtw -l realm -x -d 'of the capabilities (default: [space] realm)'
complete -c netgtw -l audit -r -F -d 'audit lines (default: [audit] file, else stderr)'
complete -c netgtw -l config -s c -r -F -d 'configuration (default: $SPACE_CONFIG, then /etc/space/space.ini)'
complete -c netgtw -l output -s o -x -a 'json table' -d 'json or table (default: table on a terminal)'
complete -c netgtw -l color -x -a 'auto always never' -d 'auto, always or never (NO_COLOR is heeded)'
complete -c netgtw -l verbose -s v -d 'say more on standard error'
complete -c netgtw -l quiet -s q -d 'say errors only'
complete -c netgtw -l help -s h -d 'this text'
complete -c netgtw -a '(__fish_netgtw_sandboxes)'
