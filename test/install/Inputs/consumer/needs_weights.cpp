#include "small.h"
#include <attn/attn.hpp>
#include <iostream>

int main() {
  try {
    attn::Model model(attn_model_g2p());
  } catch (const attn::Error &error) {
    std::cout << error.what() << '\n';
  }
}
