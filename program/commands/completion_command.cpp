#include <levin/core/system/error.h>
#include <levin/program/commands/commands.h>

#include <iostream>

namespace levin::cli {
namespace {

constexpr const char* kBash = R"shell(# Completion of levin in bash: source <(levin completion bash)
_levin() {
  local IFS=$'\n' word=${COMP_WORDS[COMP_CWORD]}
  [[ $word == = ]] && word=
  COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1)" -- "$word"))
  [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *. ]] && compopt -o nospace
}
complete -o default -F _levin levin
)shell";

constexpr const char* kZsh = R"shell(#compdef levin
# Completion of levin in zsh: source <(levin completion zsh), or a file _levin in a folder of $fpath
_levin() {
  local -a described
  local line
  for line in "${(@f)$("${words[1]}" complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  (( ${#described} )) && _describe levin described || _files
}
if [[ $funcstack[1] == _levin ]]; then _levin "$@"; else compdef _levin levin; fi
)shell";

constexpr const char* kFish = R"shell(# Completion of levin in fish: levin completion fish | source
complete -c levin -a '(set -l words (commandline -opc) (commandline -ct); $words[1] complete $words[2..] 2>/dev/null)'
)shell";

std::vector<std::string> shells() { return {"bash", "zsh", "fish"}; }

int run_completion(const NoOptions& /*flags*/, const Words& words) {
  if (words[0] == "bash")
    std::cout << kBash;
  else if (words[0] == "zsh")
    std::cout << kZsh;
  else if (words[0] == "fish")
    std::cout << kFish;
  else
    throw UsageError("levin completion: expected bash, zsh or fish, got ", words[0]);
  return 0;
}

}  // namespace

Command completion_command() {
  return make_command({.name = "completion",
                       .summary = "Print a script that completes words of levin in bash, zsh or fish",
                       .usage = "SHELL",
                       .about = "SHELL is bash, zsh or fish; in bash: source <(levin completion bash)",
                       .least = 1,
                       .most = 1,
                       .operands = shells},
                      run_completion);
}

}  // namespace levin::cli
