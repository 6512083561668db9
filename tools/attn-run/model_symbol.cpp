//===- model_symbol.cpp - find the model in a library ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-run/model_symbol.h"
#include "runtime/mapped_file.h"

#include <cstring>
#include <elf.h>
#include <string_view>
#include <vector>

namespace attn::tool {

namespace {

/// Reads structures of a file that may be damaged.
class ElfFile {
public:
  explicit ElfFile(const MappedFile &file) : file(file) {}

  template <typename T> bool read(uint64_t offset, T &to) const {
    if (offset > file.size() || file.size() - offset < sizeof(T))
      return false;
    memcpy(&to, file.data() + offset, sizeof(T));
    return true;
  }
  /// The text at an offset; empty where it has no end in the file.
  std::string_view text(uint64_t offset) const {
    if (offset >= file.size())
      return {};
    const char *begin = file.data() + offset;
    size_t length = strnlen(begin, file.size() - offset);
    return length == file.size() - offset ? std::string_view()
                                          : std::string_view(begin, length);
  }

private:
  const MappedFile &file;
};

bool isSharedObject(const ElfFile &elf, Elf64_Ehdr &header) {
  return elf.read(0, header) && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_type == ET_DYN &&
         header.e_shentsize == sizeof(Elf64_Shdr);
}

} // namespace

std::string findModelSymbol(const std::string &path, std::string &error) {
  std::unique_ptr<MappedFile> file = MappedFile::open(path, error);
  if (!file)
    return {};
  ElfFile elf(*file);
  Elf64_Ehdr header;
  if (!isSharedObject(elf, header)) {
    error = "expected a compiled model (a shared object), but got another "
            "kind of file: " +
            path;
    return {};
  }
  constexpr std::string_view prefix = "attn_model_";
  std::vector<std::string> found;
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section, names;
    if (!elf.read(header.e_shoff + i * sizeof(section), section) ||
        section.sh_type != SHT_DYNSYM ||
        !elf.read(header.e_shoff + section.sh_link * sizeof(names), names))
      continue;
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size;
         at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      if (!elf.read(section.sh_offset + at, symbol))
        break;
      std::string_view name = elf.text(names.sh_offset + symbol.st_name);
      if (symbol.st_shndx != SHN_UNDEF &&
          name.substr(0, prefix.size()) == prefix)
        found.emplace_back(name);
    }
  }
  if (found.size() == 1)
    return found[0];
  error = "expected a library with one symbol attn_model_*, but got " +
          (found.empty() ? "none"
                         : found[0] + " and " +
                               std::to_string(found.size() - 1) + " more") +
          ": " + path;
  return {};
}

} // namespace attn::tool
