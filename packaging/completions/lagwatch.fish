# SPDX-License-Identifier: Apache-2.0
# Completions of lagwatch's programs for fish: the programs themselves know their commands, options and values.
function __lagwatch_complete
    set -l line (commandline -opc) (commandline -ct)
    set -l program $line[1]
    set -e line[1]
    if string match -q '*lagwatchd' -- $program
        set program (string replace -r 'd$' '' -- $program)
        set -p line daemon
    end
    for answer in ($program help --complete -- $line 2>/dev/null)
        switch $answer
            case :files
                __fish_complete_path (commandline -ct)
            case :directories
                __fish_complete_directories (commandline -ct)
            case :programs
                __fish_complete_command
            case '*'
                echo $answer
        end
    end
end
for program in lagwatch lagwatchd lagwatch-collector
    complete -c $program -f -a '(__lagwatch_complete)'
end
