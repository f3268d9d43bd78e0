# fish completion for spaced-guest-static; generated from its table by `make completions`
function __fish_spaced-guest-static_after
	set -l words (commandline -opc)[2..-1]
	set -l count (count $argv)
	test "$words[1..$count]" = "$argv"
end
function __fish_spaced-guest-static_at
	set -l words (commandline -opc)[2..-1]
	test "$words" = "$argv"
end
function __fish_spaced-guest-static_sandboxes
	begin
		spaceid list -o json
		spacerouted list -o json
	end 2>/dev/null |
		sed -n 's/.*"sandbox":"\\([^"]*\\)".*/\\1/p' | sort -u
end
function __fish_spaced-guest-static_leases
	spacestream list -o json 2>/dev/null |
		sed -n 's/.*"lease":"\\([^"]*\\)".*/\\1/p'
end
complete -c spaced-guest-static -f
complete -c spaced-guest-static -l listen -s l -x -d 'vsock:PORT or unix:PATH (default: vsock:5005)'
complete -c spaced-guest-static -l root -s r -x -a '(__fish_complete_directories)' -d 'what paths are resolved in (default: /)'
complete -c spaced-guest-static -l cid -x -d 'our CID, where a stand-in plays the VMM'
complete -c spaced-guest-static -l key -s k -r -F -d 'where our key outlives us until the next boot'
complete -c spaced-guest-static -l max-sessions -x -d 'sessions kept, 1 to 4096 (default: 64)'
complete -c spaced-guest-static -l max-tree-mib -x -d 'size of one tree.put (default: 16384)'
complete -c spaced-guest-static -l max-tree-entries -x -d 'its entries (default: 1000000)'
complete -c spaced-guest-static -l help -s h -d 'this text'
complete -c spaced-guest-static -l version -s V -d 'which version it is'
complete -c spaced-guest-static -l verbose -s v -d 'after -V: which libraries are inside, too'
