// Reads of a block of a memory by a group of queries, its "rows": scores, then
// sums over the positions. Of 16 registers of 4 lanes 8 hold sums.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @read(%kernel: !transform.any_op {transform.readonly}) {
    // A score is one chain of sums, which waits for every addition: one row takes
    // several positions at once, and several rows share what they load of one.
    %keys = transform.attn.loops "keys" of %kernel : (!transform.any_op) -> !transform.any_op
    %rows = transform.attn.loops "rows" of %keys : (!transform.any_op) -> !transform.any_op
    %one, %many = transform.attn.specialize %rows to [1]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %rowsOfOne = transform.attn.loops "rows" of %one : (!transform.any_op) -> !transform.any_op
    transform.attn.jam %rowsOfOne by [1] : !transform.any_op
    transform.attn.jam %one by [2] : !transform.any_op
    %rowsOfMany = transform.attn.loops "rows" of %many : (!transform.any_op) -> !transform.any_op
    transform.attn.jam %rowsOfMany by [2] : !transform.any_op

    // Sums of 32 features for one row, of 16 for two.
    %features = transform.attn.loops "features" of %kernel : (!transform.any_op) -> !transform.any_op
    %summed = transform.attn.loops "rows" of %features : (!transform.any_op) -> !transform.any_op
    %sumsOfOne, %sumsOfMany = transform.attn.specialize %summed to [1]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %summedOfOne = transform.attn.loops "rows" of %sumsOfOne : (!transform.any_op) -> !transform.any_op
    transform.attn.jam %summedOfOne by [1] : !transform.any_op
    transform.attn.jam %sumsOfOne by [2] : !transform.any_op
    %summedOfMany = transform.attn.loops "rows" of %sumsOfMany : (!transform.any_op) -> !transform.any_op
    transform.attn.jam %summedOfMany by [2] : !transform.any_op
    transform.yield
  }
}
