// Arguments of a call as a row of numbers that is equal for two calls only if nothing but the contents of their data
// can tell them apart.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "python_functions.h"

namespace poolgrad {

using Arguments = nanobind::typed<nanobind::tuple, nanobind::object, nanobind::ellipsis>;
using Keywords = nanobind::typed<nanobind::dict, nanobind::str, nanobind::object>;
using Held = std::vector<nanobind::object>;

constexpr int most_parameters = 16;

// The arguments in the order of the function's parameters; null where none was given.
using Slots = std::array<PyObject*, most_parameters>;

class Key {
 public:
  // No once the key is full.
  bool add(std::uint64_t word) {
    if (count_ == most_words) {
      return false;
    }
    words_[count_++] = word;
    return true;
  }
  bool add_bytes(const void* bytes, std::size_t count);

  // Writes an argument. Data, an array or a tuple of them, is known by dtype and shape, all else by its type and
  // value; no if this one is of a kind that is not known here. With `held`, objects that are known by their address are
  // put there to be kept alive.
  bool write(PyObject* value, bool is_data, Held* held);

  const std::uint64_t* words() const { return words_; }
  std::size_t count() const { return count_; }
  std::uint64_t hash() const;

 private:
  bool write_text(PyObject* text);
  bool write_scalar(PyObject* value);
  bool write_items(PyObject* items, bool are_data, Held* held);
  bool write_array(PyObject* array, bool is_data, Held* held);
  bool write_address(PyObject* object, Held* held);

  static constexpr std::size_t most_words = 96;
  std::uint64_t words_[most_words];
  std::size_t count_ = 0;
};

// What was made of calls, by their keys.
template <class Made>
class KeptByKey {
 public:
  std::shared_ptr<const Made> find(const Key& key) {
    nanobind::ft_lock_guard lock(mutex_);
    const auto found = table_.find(key.hash());
    if (found == table_.end()) {
      return nullptr;
    }
    const std::vector<std::uint64_t>& words = found->second.words;
    const bool is_same = words.size() == key.count() && std::equal(words.begin(), words.end(), key.words());
    return is_same ? found->second.made : nullptr;
  }

  void keep(const Key& key, std::shared_ptr<const Made> made) {
    Table dropped;  // ends after the lock does: the end of an object may run anything
    Entry entry{std::vector<std::uint64_t>(key.words(), key.words() + key.count()), std::move(made)};
    nanobind::ft_lock_guard lock(mutex_);
    if (table_.size() >= most_kept) {
      dropped.swap(table_);
    }
    std::swap(table_[key.hash()], entry);
  }

  std::size_t size() {
    nanobind::ft_lock_guard lock(mutex_);
    return table_.size();
  }

  void clear() {
    Table dropped;
    nanobind::ft_lock_guard lock(mutex_);
    dropped.swap(table_);
  }

  // For the search for circles, while nothing else runs.
  template <class Visit>
  int visit(Visit visit) const {
    for (const auto& [hash, entry] : table_) {
      if (const int stop = visit(*entry.made)) {
        return stop;
      }
    }
    return 0;
  }

 private:
  struct Entry {
    std::vector<std::uint64_t> words;
    std::shared_ptr<const Made> made;
  };
  using Table = std::unordered_map<std::uint64_t, Entry>;

  static constexpr std::size_t most_kept = 1024;
  nanobind::ft_mutex mutex_;
  Table table_;
};

// The parameters of a function: their names, and which of them are data.
class Parameters {
 public:
  // The first `positional` ones may be given without their name.
  Parameters(const std::vector<nanobind::str>& names, std::vector<bool> are_data, int positional);

  // Which parameter has this name, or -1; `guess` is looked at first.
  int find(PyObject* name, int guess) const;

  // Puts arguments into their slots; no if they do not fit the parameters.
  bool place(const Given& given, Slots* slots) const;
  bool place(const Arguments& args, const Keywords& kwargs, Slots* slots) const;

  bool write(const Slots& slots, Key* key, Held* held) const;

 private:
  // Puts one that has a name behind the one before, in `parameter`, if it belongs there, or wherever it does.
  bool place_named(PyObject* name, PyObject* value, int* parameter, Slots* slots) const;

  std::vector<nanobind::object> names_;
  std::vector<bool> are_data_;
  int positional_;  // so many, the first ones, may be given without their names
};

}  // namespace poolgrad
