// RUN: hocket-opt %s -verify-diagnostics -split-input-file

// expected-error @below {{has a table of pages, which does not say how many keys a sequence has; write key_lengths, or page_lists for lists of pages that do}}
attn.forward @no_lengths element_type(bf16) head_dim(128) pages(16)

// -----

// expected-error @below {{pages(0), expected 1 to 65536 rows}}
attn.forward @no_rows element_type(bf16) head_dim(128) key_lengths pages(0)

// -----

// expected-error @below {{has keys in pages and packed; leave packed_keys out}}
attn.forward @packed element_type(bf16) head_dim(128) key_lengths packed_keys pages(16)

// -----

// expected-error @below {{has page_lists, but no pages; write pages(p)}}
attn.forward @lists element_type(bf16) head_dim(128) page_lists

// -----

// expected-error @below {{has keys in pages and block_lists, which say where they are as well; leave one of them out}}
attn.forward @blocks element_type(bf16) head_dim(128) key_lengths pages(16) block_lists(256, 128)

// -----

// expected-error @below {{has appended_keys, which are behind those that key_lengths count in dense tensors or pages of a table; write key_lengths, and neither packed_keys nor page_lists}}
attn.forward @appended element_type(bf16) head_dim(128) appended_keys

// -----

// expected-error @below {{has far_pages, but no pages; write pages(p)}}
attn.forward @far element_type(bf16) head_dim(128) far_pages

// -----

// expected-error @below {{has vector_pages, but no pages; write pages(p)}}
attn.forward @vectors element_type(bf16) head_dim(128) vector_pages

// -----

// expected-error @below {{has vector_pages of 12 rows, expected a multiple of 8, as many as a vector has}}
attn.forward @vectors element_type(bf16) head_dim(128) key_lengths pages(12) vector_pages
