// Pronounces a word with the compiled model: see README.md for how to build it.
#include "g2p.h"
#include <attn/attn.hpp>
#include <iostream>

int main(int argc, char **argv) try {
  attn::Words letters;
  for (char letter : std::string(argc > 1 ? argv[1] : "attention"))
    letters.emplace_back(1, letter);
  attn::Model model(attn_model_g2p());
  std::cout << model.decode({letters})[0].best().text() << '\n';
} catch (const attn::Error &error) {
  std::cerr << error.what() << '\n';
  return 1;
}
