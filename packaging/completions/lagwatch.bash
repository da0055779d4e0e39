# SPDX-License-Identifier: Apache-2.0
# Completions of lagwatch's programs for bash: the programs themselves know their commands, options and values.
_lagwatch() {
  local line=("${COMP_WORDS[@]:1:COMP_CWORD}") word=${COMP_WORDS[COMP_CWORD]} candidate meaning
  [ "$word" != = ] || word=
  [ "${1##*/}" != lagwatchd ] || line=(daemon "${line[@]}")
  local program=$1
  [ "${1##*/}" != lagwatchd ] || program=${1%d}
  COMPREPLY=()
  while IFS=$'\t' read -r candidate meaning; do
    [[ $candidate != :programs || $word != */* ]] || candidate=:files
    case $candidate in
      :files) compopt -o filenames; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$word") ;;
      :directories) compopt -o filenames; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "$word") ;;
      :programs) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -c -- "$word") ;;
      *) COMPREPLY+=("$candidate") ;;
    esac
  done < <("$program" help --complete -- "${line[@]}" 2>/dev/null)
  # What is before a "=" is no part of the word that bash replaces.
  if [[ $word == *=* && $COMP_WORDBREAKS == *=* ]]; then COMPREPLY=("${COMPREPLY[@]#"${word%%=*}="}"); fi
}
complete -F _lagwatch lagwatch lagwatchd lagwatch-collector
