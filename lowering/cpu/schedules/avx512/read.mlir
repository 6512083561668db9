// Reads of a block of a memory by a group of queries, its "rows": scores, then
// sums over the positions. Of 32 registers of 16 lanes at most 24 hold sums.

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
    transform.attn.jam %one by [8, 4] : !transform.any_op
    %rowsOfMany = transform.attn.loops "rows" of %many : (!transform.any_op) -> !transform.any_op
    %two, %three, %four, %five, %six = transform.attn.tile %rowsOfMany by [2, 3, 4, 5, 6]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.attn.jam %two by [2] : !transform.any_op
    transform.attn.jam %three by [3] : !transform.any_op
    transform.attn.jam %four by [4] : !transform.any_op
    transform.attn.jam %five by [5] : !transform.any_op
    transform.attn.jam %six by [6] : !transform.any_op

    // Sums of 128 features for one row, of 64 for up to six.
    %features = transform.attn.loops "features" of %kernel : (!transform.any_op) -> !transform.any_op
    %summed = transform.attn.loops "rows" of %features : (!transform.any_op) -> !transform.any_op
    %sumsOfOne, %sumsOfMany = transform.attn.specialize %summed to [1]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %summedOfOne = transform.attn.loops "rows" of %sumsOfOne : (!transform.any_op) -> !transform.any_op
    transform.attn.jam %summedOfOne by [1] : !transform.any_op
    transform.attn.jam %sumsOfOne by [8, 4] : !transform.any_op
    %summedOfMany = transform.attn.loops "rows" of %sumsOfMany : (!transform.any_op) -> !transform.any_op
    %pair, %triple, %quadruple, %quintuple, %sextuple = transform.attn.tile %summedOfMany by [2, 3, 4, 5, 6]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.attn.jam %pair by [2] : !transform.any_op
    transform.attn.jam %triple by [3] : !transform.any_op
    transform.attn.jam %quadruple by [4] : !transform.any_op
    transform.attn.jam %quintuple by [5] : !transform.any_op
    transform.attn.jam %sextuple by [6] : !transform.any_op
    transform.attn.jam %sumsOfMany by [4] : !transform.any_op
    transform.yield
  }
}
