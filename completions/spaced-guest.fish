# fish completion for spaced-guest; generated from its table by `make completions`
function __fish_spaced-guest_after
	set -l words (commandline -opc)[2..-1]
	set -l count (count $argv)
	test "$words[1..$count]" = "$argv"
end
function __fish_spaced-guest_at
	set -l words (commandline -opc)[2..-1]
	test "$words" = "$argv"
end
function __fish_spaced-guest_sandboxes
	begin
		spaceid list -o json
		spacerouted list -o json
	end 2>/dev/null |
		sed -n 's/.*"sandbox":"\\([^"]*\\)".*/\\1/p' | sort -u
end
function __fish_spaced-guest_leases
	spacestream list -o json 2>/dev/null |
		sed -n 's/.*"lease":"\\([^"]*\\)".*/\\1/p'
end
complete -c spaced-guest -f
complete -c spaced-guest -l listen -s l -x -d 'vsock:PORT or unix:PATH (default: vsock at [guest] port)'
complete -c spaced-guest -l root -s r -x -a '(__fish_complete_directories)' -d 'what paths are resolved in (default: [guest] root)'
complete -c spaced-guest -l cid -x -d 'our CID, where a stand-in plays the VMM (default: the kernel\'s)'
complete -c spaced-guest -l key -s k -r -F -d 'where our key outlives us until the next boot (default: /run/spaced-guest.key on vsock)'
complete -c spaced-guest -l audit -r -F -d 'audit lines (default: [audit] file, else stderr)'
complete -c spaced-guest -l config -s c -r -F -d 'configuration (default: $SPACE_CONFIG, then /etc/space/space.ini)'
complete -c spaced-guest -l output -s o -x -a 'json table' -d 'json or table (default: table on a terminal)'
complete -c spaced-guest -l color -x -a 'auto always never' -d 'auto, always or never (NO_COLOR is heeded)'
complete -c spaced-guest -l verbose -s v -d 'say more on standard error'
complete -c spaced-guest -l quiet -s q -d 'say errors only'
complete -c spaced-guest -l help -s h -d 'this text'
