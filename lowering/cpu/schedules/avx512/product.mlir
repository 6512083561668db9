// Products of rows with packed weights, 32 registers of 16 lanes: up to 24 hold
// sums, each one vector of 16 outputs.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @product(%kernel: !transform.any_op {transform.readonly}) {
    // Few rows take several blocks of outputs at once: a chain of sums waits for
    // every addition, and the processor needs eight of them to be at work.
    %rows = transform.attn.loops "rows" of %kernel : (!transform.any_op) -> !transform.any_op
    %one, %two, %three, %four, %five, %six, %many = transform.attn.specialize %rows to [1, 2, 3, 4, 5, 6]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op,
                                  !transform.any_op, !transform.any_op, !transform.any_op)
    %rows1 = transform.attn.loops "rows" of %one : (!transform.any_op) -> !transform.any_op
    transform.attn.jam %rows1 by [1] : !transform.any_op
    transform.attn.jam %one by [8, 4, 2] : !transform.any_op
    %rows2 = transform.attn.loops "rows" of %two : (!transform.any_op) -> !transform.any_op
    transform.attn.jam %rows2 by [2] : !transform.any_op
    transform.attn.jam %two by [6, 3] : !transform.any_op
    %rows3 = transform.attn.loops "rows" of %three : (!transform.any_op) -> !transform.any_op
    transform.attn.jam %rows3 by [3] : !transform.any_op
    transform.attn.jam %three by [4, 2] : !transform.any_op
    %rows4 = transform.attn.loops "rows" of %four : (!transform.any_op) -> !transform.any_op
    transform.attn.jam %rows4 by [4] : !transform.any_op
    transform.attn.jam %four by [4, 2] : !transform.any_op
    %rows5 = transform.attn.loops "rows" of %five : (!transform.any_op) -> !transform.any_op
    transform.attn.jam %rows5 by [5] : !transform.any_op
    transform.attn.jam %five by [4, 2] : !transform.any_op
    %rows6 = transform.attn.loops "rows" of %six : (!transform.any_op) -> !transform.any_op
    transform.attn.jam %rows6 by [6] : !transform.any_op
    transform.attn.jam %six by [4, 2] : !transform.any_op

    // More rows share two blocks, so that a number of a row is loaded for two
    // sums: up to ten rows, as beside more sums there is no place for what these
    // are made of. So many at a time that what they read stays in the second
    // cache.
    %rowsOfMany = transform.attn.loops "rows" of %many : (!transform.any_op) -> !transform.any_op
    %parts = transform.attn.block %rowsOfMany by 96 : (!transform.any_op) -> !transform.any_op
    %outputsOfPart = transform.attn.loops "outputs" of %parts : (!transform.any_op) -> !transform.any_op
    transform.attn.jam %outputsOfPart by [2] : !transform.any_op
    %rowsOfPart = transform.attn.loops "rows" of %parts : (!transform.any_op) -> !transform.any_op
    %tiles:6 = transform.attn.tile %rowsOfPart by [5, 6, 7, 8, 9, 10]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op,
                                  !transform.any_op, !transform.any_op)
    transform.attn.jam %tiles#0 by [5] : !transform.any_op
    transform.attn.jam %tiles#1 by [6] : !transform.any_op
    transform.attn.jam %tiles#2 by [7] : !transform.any_op
    transform.attn.jam %tiles#3 by [8] : !transform.any_op
    transform.attn.jam %tiles#4 by [9] : !transform.any_op
    transform.attn.jam %tiles#5 by [10] : !transform.any_op

    transform.apply_cse to %kernel : !transform.any_op
    // Weights are read once a step, from a cache that is slower than the sums;
    // the processor alone does not look far enough ahead.
    %inputs = transform.attn.loops "inputs" of %kernel : (!transform.any_op) -> !transform.any_op
    transform.attn.prefetch %inputs ahead 32 : !transform.any_op
    transform.yield
  }

  // Products of quantised rows and weights.
  transform.named_sequence @product_int8(%kernel: !transform.any_op {transform.readonly}) {
    transform.include @product failures(propagate) (%kernel) : (!transform.any_op) -> ()
    transform.yield
  }
}
