// Two models in one program, used in turns and at once.
#include "g2p.h"
#include "letters.h"
#include <attn/attn.hpp>
#include <iostream>
#include <thread>

static std::string pronounce(const attn::Model &model,
                             const std::string &word) {
  attn::Words letters;
  for (char letter : word)
    letters.emplace_back(1, letter);
  return model.decode({letters})[0].best().text();
}

int main() {
  attn::Model g2p(attn_model_g2p());
  std::cout << g2p.name() << ": " << pronounce(g2p, "knight") << '\n';
  {
    attn::Model letters(attn_model_letters());
    attn::Model again(attn_model_g2p());
    std::cout << letters.name() << ": " << letters.info().parameter_count
              << " parameters\n";
    std::string first, second, third;
    std::thread one([&] { first = pronounce(g2p, "attention"); });
    std::thread two([&] { second = pronounce(letters, "attention"); });
    std::thread three([&] { third = pronounce(again, "attention"); });
    one.join();
    two.join();
    three.join();
    std::cout << first << '\n'
              << (first == third ? "the same" : "different") << '\n'
              << (first == second ? "the same" : "different") << '\n';
  }
  std::cout << g2p.name() << ": " << pronounce(g2p, "knight") << '\n';
}
