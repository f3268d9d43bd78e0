#!/usr/bin/env zsh
# zsh-complete.zsh DIRECTORY LINE: what an interactive zsh with the completions of DIRECTORY offers at the end of LINE,
# a word each line.
emulate zsh
zmodload zsh/zpty

# In the shell on the terminal: offers are printed instead of shown, and the key prints where they end.
setup='
PS1= PS2= RPS1=
unsetopt zle_bracketed_paste 2>/dev/null
fpath=('$1' $fpath)
autoload -Uz compinit && compinit -D -u
compadd() {
	case " ${(j: :)@[1,(i)(-|--)]}" in
	*" -"(O|A|D)" "*) builtin compadd "$@"; return ;;
	esac
	local -a offered
	builtin compadd -A offered "$@"
	(( $#offered )) && print -rl -- "offer:"${^offered}
	builtin compadd "$@"
}
offer() { zle complete-word; print -r -- "offers:end"; zle kill-whole-line }
zle -N offer
bindkey "^X" offer
print -r -- "setup:end"
'
zpty offers zsh -f -i
zpty -w offers "$setup"
while zpty -r offers line; do
	[[ $line == setup:end* ]] && break
done
zpty -n -w offers "$2"$'\x18'
while zpty -r offers line; do
	line=${${line%$'\n'}%$'\r'}
	case $line in
	*offers:end*) break ;;
	*offer:*) print -r -- "${line##*offer:}" ;;
	esac
done
zpty -d offers
