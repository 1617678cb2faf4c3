// The tests, by file.
#pragma once

namespace tests {

void test_numbers();
void test_windows();

void test_small_families();   // every type, small sizes
void test_shared_families();  // every type, one size that several threads share
void test_large_families();   // some types, sizes that tiles cut along every axis
void test_few_families();     // a handful with three threads

void test_faults();
void test_threads();
void test_results();

}  // namespace tests
