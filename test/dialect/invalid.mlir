// One case for each constraint of the dialect, by its number.
// RUN: attn-opt %s --split-input-file --verify-diagnostics > /dev/null

// M1
// expected-error @below {{expected at most one encoder}}
attn.model @m {
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  attn.encoder inputs [] vocabularies [] ends [] axes [] {
    attn.encoded axes []
  }
  attn.encoder inputs [] vocabularies [] ends [] axes [] {
    attn.encoded axes []
  }
  attn.decoder vocabulary @v memories [] axes [] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    attn.predict %l : tensor<?x5xf32>
  }
}

// -----

// M2
// expected-error @below {{expected one decoder}}
attn.model @m {
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
}

// -----

// M3
attn.model @m {
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  // expected-error @below {{expected the memory axes that the encoder gives}}
  attn.decoder vocabulary @v memories ["h"] axes [-1] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %h: tensor<?x4xf32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    attn.predict %l : tensor<?x5xf32>
  }
}

// -----

// M3
attn.model @m {
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  attn.encoder inputs ["x"] vocabularies [""] ends [false] axes [0] {
  ^bb0(%x: tensor<?x?x4xf32>, %n: tensor<?xi32>):
    attn.encoded memory(%x : tensor<?x?x4xf32>) axes [0] lengths(%n)
  }
  // expected-error @below {{expected memory 0 of type 'tensor<?x?x4xf32>', but got 'tensor<?x?x3xf32>'}}
  attn.decoder vocabulary @v memories ["h"] axes [0] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %h: tensor<?x?x3xf32>, %n: tensor<?xi32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    attn.predict %l : tensor<?x5xf32>
  }
}

// -----

// M3
attn.model @m {
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  // expected-error @below {{expected first values of types ('tensor<?x2xf32>') from the encoder, but got ()}}
  attn.decoder vocabulary @v memories [] axes [] states ["s"] axes [-1] zero [false] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %s: tensor<?x2xf32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    attn.predict %l : tensor<?x5xf32> states(%s : tensor<?x2xf32>)
  }
}

// -----

// M4
attn.model @m {
  // expected-error @below {{expected a positive size, but got 0}}
  attn.vocabulary @w size 0
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  attn.decoder vocabulary @v memories [] axes [] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    attn.predict %l : tensor<?x5xf32>
  }
}

// -----

// M5
attn.model @m {
  // expected-error @below {{expected marks below the size 4, but got 4}}
  attn.vocabulary @w size 4 end 4
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  attn.decoder vocabulary @v memories [] axes [] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    attn.predict %l : tensor<?x5xf32>
  }
}

// -----

// M6
attn.model @m {
  // expected-error @below {{expected f32 or a tensor of f32 with static, positive dimensions, but got 'tensor<?xf32>'}}
  attn.parameter @w : tensor<?xf32>
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  attn.decoder vocabulary @v memories [] axes [] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    attn.predict %l : tensor<?x5xf32>
  }
}

// -----

// M6
attn.model @m {
  // expected-error @below {{expected f32 or a tensor of f32 with static, positive dimensions, but got 'tensor<3xi32>'}}
  attn.parameter @w : tensor<3xi32>
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  attn.decoder vocabulary @v memories [] axes [] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    attn.predict %l : tensor<?x5xf32>
  }
}

// -----

// M7
attn.model @m {
  // expected-error @below {{expected a start and a stop for each sliced dimension}}
  attn.parameter @w from "x" slice [0, 1, 2] : tensor<3xf32>
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  attn.decoder vocabulary @v memories [] axes [] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    attn.predict %l : tensor<?x5xf32>
  }
}

// -----

// M7
attn.model @m {
  // expected-error @below {{expected ranges with a start below the stop, but got [4 : 4]}}
  attn.parameter @w from "x" slice [4, 4] : tensor<3xf32>
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  attn.decoder vocabulary @v memories [] axes [] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    attn.predict %l : tensor<?x5xf32>
  }
}

// -----

// M7
attn.model @m {
  // expected-error @below {{expected the name of a foreign tensor that has a scale}}
  attn.parameter @w scale "s" : tensor<3xf32>
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  attn.decoder vocabulary @v memories [] axes [] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    attn.predict %l : tensor<?x5xf32>
  }
}

// -----

// M8
attn.model @m {
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  attn.decoder vocabulary @v memories [] axes [] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    // expected-error @below {{expected a parameter of the model, but got @F}}
    %F = attn.get_parameter @F : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    attn.predict %l : tensor<?x5xf32>
  }
}

// -----

// M8
attn.model @m {
  attn.vocabulary @v size 5
  // expected-note @below {{the parameter is declared here}}
  attn.parameter @E : tensor<5x4xf32>
  attn.decoder vocabulary @v memories [] axes [] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>):
    // expected-error @below {{expected a result of type 'tensor<5x4xf32>', but got 'tensor<5x5xf32>'}}
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    attn.predict %l : tensor<?x5xf32>
  }
}

// -----

// M9
attn.model @m {
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  // expected-error @below {{expected a vocabulary, an end and an axis for each of 1 inputs}}
  attn.encoder inputs ["x"] vocabularies [] ends [] axes [] {
    attn.encoded axes []
  }
  attn.decoder vocabulary @v memories [] axes [] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    attn.predict %l : tensor<?x5xf32>
  }
}

// -----

// M10
attn.model @m {
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  // expected-error @below {{expected 1 inputs and 1 lengths as arguments, but got 0}}
  attn.encoder inputs ["x"] vocabularies ["v"] ends [false] axes [0] {
    attn.encoded axes []
  }
  attn.decoder vocabulary @v memories [] axes [] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    attn.predict %l : tensor<?x5xf32>
  }
}

// -----

// M10
attn.model @m {
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  // expected-error @below {{expected input 0 to be a sequence of tokens, but got 'tensor<?x?x4xf32>'}}
  attn.encoder inputs ["x"] vocabularies ["v"] ends [true] axes [0] {
  ^bb0(%x: tensor<?x?x4xf32>, %n: tensor<?xi32>):
    attn.encoded axes []
  }
  attn.decoder vocabulary @v memories [] axes [] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    attn.predict %l : tensor<?x5xf32>
  }
}

// -----

// M10
attn.model @m {
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  // expected-error @below {{expected lengths of type tensor<?xi32>, but got 'tensor<?xf32>'}}
  attn.encoder inputs ["x"] vocabularies [""] ends [true] axes [0] {
  ^bb0(%x: tensor<?x?x4xf32>, %n: tensor<?xf32>):
    attn.encoded axes []
  }
  attn.decoder vocabulary @v memories [] axes [] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    attn.predict %l : tensor<?x5xf32>
  }
}

// -----

// M11
attn.model @m {
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  attn.encoder inputs ["x"] vocabularies [""] ends [false] axes [0] {
  ^bb0(%x: tensor<?x?x4xf32>, %n: tensor<?xi32>):
    // expected-error @below {{expected an axis for each of 1 memories, but got 0}}
    attn.encoded memory(%x : tensor<?x?x4xf32>) axes [] lengths(%n)
  }
  attn.decoder vocabulary @v memories [] axes [] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    attn.predict %l : tensor<?x5xf32>
  }
}

// -----

// M11
attn.model @m {
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  attn.encoder inputs ["x"] vocabularies [""] ends [false] axes [0] {
  ^bb0(%x: tensor<?x?x4xf32>, %n: tensor<?xi32>):
    // expected-error @below {{expected a memory without positions, as its axis says, but got 'tensor<?x?x4xf32>'}}
    attn.encoded memory(%x : tensor<?x?x4xf32>) axes [-1] lengths(%n)
  }
  attn.decoder vocabulary @v memories [] axes [] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    attn.predict %l : tensor<?x5xf32>
  }
}

// -----

// M11
attn.model @m {
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  attn.encoder inputs ["x"] vocabularies [""] ends [false] axes [0] {
  ^bb0(%x: tensor<?x?x4xf32>, %n: tensor<?xi32>):
    // expected-error @below {{expected axes below 1 or -1, but got 1}}
    attn.encoded memory(%x : tensor<?x?x4xf32>) axes [1] lengths(%n)
  }
  attn.decoder vocabulary @v memories [] axes [] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    attn.predict %l : tensor<?x5xf32>
  }
}

// -----

// M12
attn.model @m {
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  // expected-error @below {{expected an axis for each of 1 memories, but got 0}}
  attn.decoder vocabulary @v memories ["h"] axes [] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    attn.predict %l : tensor<?x5xf32>
  }
}

// -----

// M12
attn.model @m {
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  // expected-error @below {{expected an axis and a first value for each of 1 states}}
  attn.decoder vocabulary @v memories [] axes [] states ["s"] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    attn.predict %l : tensor<?x5xf32>
  }
}

// -----

// M13
attn.model @m {
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  // expected-error @below {{expected 4 arguments (token, position, sentence, memories, lengths, states), but got 3}}
  attn.decoder vocabulary @v memories ["h"] axes [-1] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    attn.predict %l : tensor<?x5xf32>
  }
}

// -----

// M13
attn.model @m {
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  // expected-error @below {{expected token, position, sentence and lengths of type tensor<?xi32>}}
  attn.decoder vocabulary @v memories [] axes [] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xf32>, %r: tensor<?xi32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    attn.predict %l : tensor<?x5xf32>
  }
}

// -----

// M13
attn.model @m {
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  // expected-error @below {{expected a value without positions, as its axis says, but got 'tensor<?x?x4xf32>'}}
  attn.decoder vocabulary @v memories ["h"] axes [-1] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %h: tensor<?x?x4xf32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    attn.predict %l : tensor<?x5xf32>
  }
}

// -----

// M14
attn.model @m {
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  attn.decoder vocabulary @v memories [] axes [] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    %m = attn.slice %l[0 : 4] : tensor<?x5xf32> -> tensor<?x4xf32>
    // expected-error @below {{expected logits over the 5 words of 'v', but got 'tensor<?x4xf32>'}}
    attn.predict %m : tensor<?x4xf32>
  }
}

// -----

// M14
attn.model @m {
  attn.vocabulary @v size 5
  attn.encoder inputs ["x"] vocabularies ["v"] ends [false] axes [0] {
  ^bb0(%x: tensor<?x?xi32>, %n: tensor<?xi32>):
    attn.encoded memory(%x : tensor<?x?xi32>) axes [0] lengths(%n)
  }
  attn.decoder positions 0 memories ["h"] axes [0] states ["s"] axes [-1] zero [true] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %h: tensor<?x?xi32>, %n: tensor<?xi32>, %s: tensor<?xf32>):
    // expected-error @below {{expected logits over the positions of a memory, but got 'tensor<?xf32>'}}
    attn.predict %s : tensor<?xf32> states(%s : tensor<?xf32>)
  }
}

// -----

// M14
attn.model @m {
  attn.decoder memories [] axes [] states ["s"] axes [-1] zero [true] {
  ^bb0(%y: tensor<?x4xf32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %s: tensor<?xf32>):
    // expected-error @below {{expected features like those before, 'tensor<?x4xf32>', but got 'tensor<?xf32>'}}
    attn.predict %s : tensor<?xf32> states(%s : tensor<?xf32>) stop(%s : tensor<?xf32>)
  }
}

// -----

// M13
attn.model @m {
  // expected-error @below {{expected features of type tensor<?xFxf32> as what was emitted before, but got 'tensor<?xi32>'}}
  attn.decoder memories [] axes [] states ["s"] axes [-1] zero [true] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %s: tensor<?xf32>):
    attn.predict %s : tensor<?xf32> states(%s : tensor<?xf32>)
  }
}

// -----

// M19
attn.model @m {
  attn.vocabulary @v size 5
  // expected-error @below {{expected tokens or positions to emit, but got both}}
  attn.decoder vocabulary @v positions 0 memories [] axes [] states ["s"] axes [-1] zero [true] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %s: tensor<?x5xf32>):
    attn.predict %s : tensor<?x5xf32> states(%s : tensor<?x5xf32>)
  }
}

// -----

// M19
attn.model @m {
  // expected-error @below {{expected positions of an axis below 0 to emit, but got 0}}
  attn.decoder positions 0 memories [] axes [] states ["s"] axes [-1] zero [true] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %s: tensor<?x5xf32>):
    attn.predict %s : tensor<?x5xf32> states(%s : tensor<?x5xf32>)
  }
}

// -----

// M19
attn.model @m {
  // expected-error @below {{expected a start of tokens only}}
  attn.decoder start "<s>" memories [] axes [] states ["s"] axes [-1] zero [true] {
  ^bb0(%y: tensor<?x5xf32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %s: tensor<?xf32>):
    attn.predict %y : tensor<?x5xf32> states(%s : tensor<?xf32>) stop(%s : tensor<?xf32>)
  }
}

// -----

// M20
attn.model @m {
  attn.decoder memories [] axes [] states ["s"] axes [-1] zero [true] {
  ^bb0(%y: tensor<?x5xf32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %s: tensor<?xf32>):
    // expected-error @below {{expected a logit to stop exactly where features are emitted}}
    attn.predict %y : tensor<?x5xf32> states(%s : tensor<?xf32>)
  }
}

// -----

// M20
attn.model @m {
  attn.decoder memories [] axes [] states ["s"] axes [-1] zero [true] {
  ^bb0(%y: tensor<?x5xf32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %s: tensor<?xf32>):
    // expected-error @below {{expected one number a row as the logit to stop, but got 'tensor<?x5xf32>'}}
    attn.predict %y : tensor<?x5xf32> states(%s : tensor<?xf32>) stop(%y : tensor<?x5xf32>)
  }
}

// -----

// M15
attn.model @m {
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  attn.decoder vocabulary @v memories [] axes [] states ["s"] axes [-1] zero [true] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %s: tensor<?x2xf32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    // expected-error @below {{expected states that keep their types}}
    attn.predict %l : tensor<?x5xf32> states(%l : tensor<?x5xf32>)
  }
}

// -----

// M16
attn.model @m {
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  attn.decoder vocabulary @v memories [] axes [] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    // expected-error @below {{expected weights over a memory of the encoder, but got 'tensor<?x5xf32>'}}
    attn.predict %l : tensor<?x5xf32> weights(%l : tensor<?x5xf32> on 0)
  }
}

// -----

// M17
attn.model @m {
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  attn.decoder vocabulary @v memories [] axes [] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    // expected-error @below {{expected a value of the rows, but got 'tensor<5x5xf32>'}}
    attn.observe "decoder.E", %E : tensor<5x5xf32>
    attn.predict %l : tensor<?x5xf32>
  }
}

// -----

// M18
attn.model @m {
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  attn.decoder vocabulary @v memories [] axes [] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    // expected-error @below {{expected lengths of 0 axes behind the rows, but got 1}}
    attn.observe "decoder.l", %l lengths(%t) : tensor<?x5xf32>
    attn.predict %l : tensor<?x5xf32>
  }
}

// -----

// P1
func.func @f(%q: tensor<?x4xf32>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>, %r: tensor<?xi32>) {
  // expected-error @below {{expected a map for each of 1 inputs, but got 0}}
  %e = "attn.score"(%h, %n) <{indexing_maps = [], operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>}> ({
  ^bb0(%b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    %0 = arith.constant 0.0 : f32
    attn.yield %0 : f32
  }) : (tensor<?x?x4xf32>, tensor<?xi32>) -> tensor<?x?xf32>
  return
}

// -----

// P2
func.func @f(%q: tensor<?x4xf32>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>, %r: tensor<?xi32>) {
  // expected-error @below {{expected input 0 to be indexed by [], [row], [row, query], [row, key], [source] or [source, key]}}
  %e = attn.score ins(%q[key] : tensor<?x4xf32>, %h[row, key] : tensor<?x?x4xf32>) lengths(%n) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    %0 = attn.dot %a, %b : tensor<4xf32> -> f32
    attn.yield %0 : f32
  } -> tensor<?x?xf32>
  return
}

// -----

// P2
func.func @f(%q: tensor<?x4xf32>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>, %r: tensor<?xi32>) {
  // expected-error @below {{expected input 0 to have 0 axes, but got 'tensor<?x4xf32>'}}
  %e = attn.score ins(%q[] : tensor<?x4xf32>, %h[row, key] : tensor<?x?x4xf32>) lengths(%n) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    %0 = attn.dot %a, %b : tensor<4xf32> -> f32
    attn.yield %0 : f32
  } -> tensor<?x?xf32>
  return
}

// -----

// P3
func.func @f(%q: tensor<?x4xf32>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>, %r: tensor<?xi32>) {
  // expected-error @below {{expected 'rows', because input 1 is indexed by source}}
  %e = attn.score ins(%q[row] : tensor<?x4xf32>, %h[source, key] : tensor<?x?x4xf32>) lengths(%n) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    %0 = attn.dot %a, %b : tensor<4xf32> -> f32
    attn.yield %0 : f32
  } -> tensor<?x?xf32>
  return
}

// -----

// P3
func.func @f(%q: tensor<?x4xf32>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>, %r: tensor<?xi32>) {
  // expected-error @below {{expected 'query_lengths', because input 0 is indexed by query}}
  %e = attn.score ins(%h[row, query] : tensor<?x?x4xf32>, %h[row, key] : tensor<?x?x4xf32>) lengths(%n) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    %0 = attn.dot %a, %b : tensor<4xf32> -> f32
    attn.yield %0 : f32
  } -> tensor<?x?xf32>
  return
}

// -----

// P4
func.func @f(%q: tensor<?x4xf32>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>, %r: tensor<?xi32>) {
  // expected-error @below {{expected an input indexed by key}}
  %e = attn.score ins(%q[row] : tensor<?x4xf32>) lengths(%n) {
  ^bb0(%a: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    %0 = attn.dot %a, %a : tensor<4xf32> -> f32
    attn.yield %0 : f32
  } -> tensor<?x?xf32>
  return
}

// -----

// P5
func.func @f(%q: tensor<?x4xf32>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>, %r: tensor<?xi32>) {
  // expected-error @below {{expected a region with arguments ('tensor<4xf32>', 'tensor<4xf32>', 'i32', 'i32', 'i32', 'i32'), but got ('tensor<4xf32>', 'tensor<3xf32>', 'i32', 'i32', 'i32', 'i32')}}
  %e = attn.score ins(%q[row] : tensor<?x4xf32>, %h[row, key] : tensor<?x?x4xf32>) lengths(%n) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<3xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    %0 = attn.dot %a, %a : tensor<4xf32> -> f32
    attn.yield %0 : f32
  } -> tensor<?x?xf32>
  return
}

// -----

// P6
func.func @f(%q: tensor<?x4xf32>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>, %r: tensor<?xi32>) {
  // expected-error @below {{expected only operations that can be lifted over a tile of pairs}}
  %e = attn.score ins(%q[row] : tensor<?x4xf32>, %h[row, key] : tensor<?x?x4xf32>) lengths(%n) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    // expected-note @below {{'memref.alloc' is not}}
    %x = memref.alloc() : memref<4xf32>
    %0 = attn.dot %a, %b : tensor<4xf32> -> f32
    attn.yield %0 : f32
  } -> tensor<?x?xf32>
  return
}

// -----

// P7
func.func @f(%q: tensor<?x4xf32>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>, %r: tensor<?xi32>) {
  // expected-error @below {{expected lengths of the queries or their position, but got both}}
  %e = attn.score ins(%q[row] : tensor<?x4xf32>, %h[row, key] : tensor<?x?x4xf32>) lengths(%n) query_lengths(%n) query_positions(%n) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    %0 = attn.dot %a, %b : tensor<4xf32> -> f32
    attn.yield %0 : f32
  } -> tensor<?x?xf32>
  return
}

// -----

// P8
func.func @f(%q: tensor<?x4xf32>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>, %r: tensor<?xi32>) {
  // expected-error @below {{expected a result of type 'tensor<?x?x4xf32>' for a score that yields 'tensor<4xf32>', but got 'tensor<?x?xf32>'}}
  %e = attn.score ins(%q[row] : tensor<?x4xf32>, %h[row, key] : tensor<?x?x4xf32>) lengths(%n) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    attn.yield %a : tensor<4xf32>
  } -> tensor<?x?xf32>
  return
}

// -----

// P8
func.func @f(%q: tensor<?x4xf32>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>, %r: tensor<?xi32>) {
  // expected-error @below {{expected a score that yields one value, but got 2}}
  %e = attn.score ins(%q[row] : tensor<?x4xf32>, %h[row, key] : tensor<?x?x4xf32>) lengths(%n) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    attn.yield %a, %b : tensor<4xf32>, tensor<4xf32>
  } -> tensor<?x?xf32>
  return
}

// -----

// P9
func.func @f(%q: tensor<?x4xf32>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>, %r: tensor<?xi32>) {
  // expected-error @below {{expected a mask that yields i1, but got 'f32'}}
  %e = attn.mask ins(%q[row] : tensor<?x4xf32>, %h[row, key] : tensor<?x?x4xf32>) lengths(%n) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    %0 = attn.dot %a, %b : tensor<4xf32> -> f32
    attn.yield %0 : f32
  } -> tensor<?x?xf32>
  return
}

// -----

// P10
func.func @f(%e: tensor<?x?xf32>, %k: tensor<?x?xi1>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a result of type 'tensor<?x?x4xf32>' for a factor that yields 'tensor<4xf32>', but got 'tensor<?x?xf32>'}}
  %w = attn.factor %e : tensor<?x?xf32> readable(%k : tensor<?x?xi1>) ins(%h[row, key] : tensor<?x?x4xf32>) lengths(%n) {
  ^bb0(%b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    attn.yield %b : tensor<4xf32>
  } -> tensor<?x?xf32>
  return
}

// -----

// P10
func.func @f(%e: tensor<?x?xf32>, %k: tensor<?x?xi1>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a result of the weights' type 'tensor<?x?xf32>', but got 'tensor<?x?x4xf32>'}}
  %w = attn.factor %e : tensor<?x?xf32> readable(%k : tensor<?x?xi1>) ins(%h[row, key] : tensor<?x?x4xf32>) lengths(%n) {
  ^bb0(%b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    attn.yield %b : tensor<4xf32>
  } -> tensor<?x?x4xf32>
  return
}

// -----

// P11
func.func @f(%e: tensor<?x?xf32>, %k: tensor<?x?xi1>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a context of type 'tensor<?x4xf32>', but got 'tensor<?x3xf32>'}}
  %c = attn.sum %e : tensor<?x?xf32> readable(%k : tensor<?x?xi1>) ins(%h[row, key] : tensor<?x?x4xf32>) lengths(%n) {
  ^bb0(%b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    attn.yield %b : tensor<4xf32>
  } -> tensor<?x3xf32>
  return
}

// -----

// P11
func.func @f(%e: tensor<?x?x2xf32>, %k: tensor<?x?xi1>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a summand whose features begin with the weights', but got 'tensor<4xf32>'}}
  %c = attn.sum %e : tensor<?x?x2xf32> readable(%k : tensor<?x?xi1>) ins(%h[row, key] : tensor<?x?x4xf32>) lengths(%n) {
  ^bb0(%b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    attn.yield %b : tensor<4xf32>
  } -> tensor<?x4xf32>
  return
}

// -----

// P11
func.func @f(%e: tensor<?x?xf32>, %k: tensor<?x?xi1>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected one context per summand, but got 1 for 2}}
  %c = attn.sum %e : tensor<?x?xf32> readable(%k : tensor<?x?xi1>) ins(%h[row, key] : tensor<?x?x4xf32>) lengths(%n) {
  ^bb0(%b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    attn.yield %b, %b : tensor<4xf32>, tensor<4xf32>
  } -> tensor<?x4xf32>
  return
}

// -----

// P12
func.func @f(%q: tensor<?x4xf32>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>, %r: tensor<?xi32>) {
  // expected-error @below {{expected a score that yields one f32 or tensor of f32}}
  %c = attn.read softmax ins(%q[row] : tensor<?x4xf32>, %h[row, key] : tensor<?x?x4xf32>) lengths(%n) score {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    attn.yield %i : i32
  } summand {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    attn.yield %b : tensor<4xf32>
  } -> tensor<?x4xf32>
  return
}

// -----

// P12
func.func @f(%q: tensor<?x4xf32>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>, %r: tensor<?xi32>) {
  // expected-error @below {{expected a mask that yields i1, alone or in the score's shape}}
  %c = attn.read softmax ins(%q[row] : tensor<?x4xf32>, %h[row, key] : tensor<?x?x4xf32>) lengths(%n) score {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    %0 = attn.dot %a, %b : tensor<4xf32> -> f32
    attn.yield %0 : f32
  } mask {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    attn.yield %a : tensor<4xf32>
  } summand {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    attn.yield %b : tensor<4xf32>
  } -> tensor<?x4xf32>
  return
}

// -----

// P12
func.func @f(%q: tensor<?x4xf32>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>, %r: tensor<?xi32>) {
  // expected-error @below {{expected a factor that yields 'f32' as the score does}}
  %c = attn.read softmax ins(%q[row] : tensor<?x4xf32>, %h[row, key] : tensor<?x?x4xf32>) lengths(%n) score {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    %0 = attn.dot %a, %b : tensor<4xf32> -> f32
    attn.yield %0 : f32
  } factor {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    attn.yield %a : tensor<4xf32>
  } summand {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    attn.yield %b : tensor<4xf32>
  } -> tensor<?x4xf32>
  return
}

// -----

// P13
func.func @f(%q: tensor<?x4xf32>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>, %r: tensor<?xi32>) {
  // expected-error @below {{expected a context of type 'tensor<?x4xf32>', but got 'tensor<?x5xf32>'}}
  %c = attn.read softmax ins(%q[row] : tensor<?x4xf32>, %h[row, key] : tensor<?x?x4xf32>) lengths(%n) score {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    %0 = attn.dot %a, %b : tensor<4xf32> -> f32
    attn.yield %0 : f32
  } summand {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    attn.yield %b : tensor<4xf32>
  } -> tensor<?x5xf32>
  return
}

// -----

// P13
func.func @f(%q: tensor<?x4xf32>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>, %r: tensor<?xi32>) {
  // expected-error @below {{expected weights of type 'tensor<?x?xf32>', but got 'tensor<?xf32>'}}
  %c, %w = attn.read softmax ins(%q[row] : tensor<?x4xf32>, %h[row, key] : tensor<?x?x4xf32>) lengths(%n) score {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    %0 = attn.dot %a, %b : tensor<4xf32> -> f32
    attn.yield %0 : f32
  } summand {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    attn.yield %b : tensor<4xf32>
  } -> tensor<?x4xf32> weights tensor<?xf32>
  return
}

// -----

// P13
func.func @f(%q: tensor<?x4xf32>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>, %r: tensor<?xi32>) {
  // expected-error @below {{expected valid of type 'tensor<?xi1>', but got 'tensor<?x?xi1>'}}
  %c, %w = attn.read softmax ins(%q[row] : tensor<?x4xf32>, %h[row, key] : tensor<?x?x4xf32>) lengths(%n) score {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    %0 = attn.dot %a, %b : tensor<4xf32> -> f32
    attn.yield %0 : f32
  } summand {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    attn.yield %b : tensor<4xf32>
  } -> tensor<?x4xf32> valid tensor<?x?xi1>
  return
}

// -----

// N1
func.func @f(%e: tensor<?x?x2xf32>, %k: tensor<?x?x3xi1>, %n: tensor<?xi32>) {
  // expected-error @below {{expected weights of type 'tensor<?x?x2xf32>', but got 'tensor<?x?xf32>'}}
  %a, %b, %c = attn.normalize softmax %e lengths(%n) : tensor<?x?x2xf32> -> tensor<?x?xf32>, tensor<?x?x2xi1>, tensor<?x2xi1>
  return
}

// -----

// N1
func.func @f(%e: tensor<?x?x2xf32>, %k: tensor<?x?x3xi1>, %n: tensor<?xi32>) {
  // expected-error @below {{expected readable of type 'tensor<?x?x2xi1>', but got 'tensor<?x?xi1>'}}
  %a, %b, %c = attn.normalize softmax %e lengths(%n) : tensor<?x?x2xf32> -> tensor<?x?x2xf32>, tensor<?x?xi1>, tensor<?x2xi1>
  return
}

// -----

// N1
func.func @f(%e: tensor<?x?x2xf32>, %k: tensor<?x?x3xi1>, %n: tensor<?xi32>) {
  // expected-error @below {{expected valid of type 'tensor<?x2xi1>', but got 'tensor<?xi1>'}}
  %a, %b, %c = attn.normalize softmax %e lengths(%n) : tensor<?x?x2xf32> -> tensor<?x?x2xf32>, tensor<?x?x2xi1>, tensor<?xi1>
  return
}

// -----

// N2
func.func @f(%e: tensor<?x?x2xf32>, %k: tensor<?x?x3xi1>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a mask of type 'tensor<?x?x2xi1>' or 'tensor<?x?xi1>', but got 'tensor<?x?x3xi1>'}}
  %a, %b, %c = attn.normalize softmax %e mask(%k : tensor<?x?x3xi1>) lengths(%n) : tensor<?x?x2xf32> -> tensor<?x?x2xf32>, tensor<?x?x2xi1>, tensor<?x2xi1>
  return
}

// -----

// N3
func.func @f(%e: tensor<?x?x2xf32>, %k: tensor<?x?x3xi1>, %n: tensor<?xi32>) {
  // expected-error @below {{expected scores of 3 axes, but got 'tensor<?x?x2xf32>'}}
  %a, %b, %c = attn.normalize softmax %e lengths(%n) query_lengths(%n) : tensor<?x?x2xf32> -> tensor<?x?x2xf32>, tensor<?x?x2xi1>, tensor<?x2xi1>
  return
}

// -----

// N4
func.func @f(%e: tensor<?x?x2xf32>, %s: tensor<?x3xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a sink of type 'tensor<2xf32>' for all rows, for each row or for each query, but got 'tensor<?x3xf32>'}}
  %a, %b, %c = attn.normalize softmax %e sink(%s : tensor<?x3xf32>) lengths(%n) : tensor<?x?x2xf32> -> tensor<?x?x2xf32>, tensor<?x?x2xi1>, tensor<?x2xi1>
  return
}

// -----

// P14
func.func @f(%q: tensor<?x4xf32>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected an interval that uses nothing of a memory position, but it uses argument 3}}
  %c = attn.read softmax ins(%q[row] : tensor<?x4xf32>, %h[row, key] : tensor<?x?x4xf32>) lengths(%n) score {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    %0 = attn.dot %a, %b : tensor<4xf32> -> f32
    attn.yield %0 : f32
  } interval {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    attn.yield %i, %j : i32, i32
  } summand {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    attn.yield %b : tensor<4xf32>
  } -> tensor<?x4xf32>
  return
}

// -----

// P14
func.func @f(%q: tensor<?x4xf32>, %h: tensor<?x?xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a sink that uses nothing of a memory position, but it uses argument 1}}
  %c = attn.read softmax ins(%q[row] : tensor<?x4xf32>, %h[row, key] : tensor<?x?xf32>) lengths(%n) score {
  ^bb0(%a: tensor<4xf32>, %b: f32, %i: i32, %j: i32, %m: i32, %l: i32):
    attn.yield %b : f32
  } sink {
  ^bb0(%a: tensor<4xf32>, %b: f32, %i: i32, %j: i32, %m: i32, %l: i32):
    attn.yield %b : f32
  } summand {
  ^bb0(%a: tensor<4xf32>, %b: f32, %i: i32, %j: i32, %m: i32, %l: i32):
    attn.yield %b : f32
  } -> tensor<?xf32>
  return
}

// -----

// P14
func.func @f(%q: tensor<?x4xf32>, %h: tensor<?x?xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected an interval that yields two i32}}
  %c = attn.read softmax ins(%q[row] : tensor<?x4xf32>, %h[row, key] : tensor<?x?xf32>) lengths(%n) score {
  ^bb0(%a: tensor<4xf32>, %b: f32, %i: i32, %j: i32, %m: i32, %l: i32):
    attn.yield %b : f32
  } interval {
  ^bb0(%a: tensor<4xf32>, %b: f32, %i: i32, %j: i32, %m: i32, %l: i32):
    attn.yield %i : i32
  } summand {
  ^bb0(%a: tensor<4xf32>, %b: f32, %i: i32, %j: i32, %m: i32, %l: i32):
    attn.yield %b : f32
  } -> tensor<?xf32>
  return
}

// -----

// P15
func.func @f(%q: tensor<?x4xf32>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected an input indexed by query}}
  %0 = attn.score ins(%q[row] : tensor<?x4xf32>, %h[row, key] : tensor<?x?x4xf32>) lengths(%n) query_lengths(%n) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    %1 = attn.dot %a, %b : tensor<4xf32> -> f32
    attn.yield %1 : f32
  } -> tensor<?x?x?xf32>
  return
}

// -----

// F1
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected features that are a prefix of those of 'tensor<?x5xf32>' or a single number, but got 'tensor<?x4xf32>'}}
  %0 = attn.broadcast %x : tensor<?x4xf32> -> tensor<?x5xf32>
  return
}

// -----

// F1
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected one element type, but got 'tensor<?x4xf32>' and 'tensor<?x4xi1>'}}
  %0 = attn.broadcast %x : tensor<?x4xf32> -> tensor<?x4xi1>
  return
}

// -----

// F1
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a result with at least the axes of 'tensor<?x4xf32>', but got 'tensor<4xf32>'}}
  %0 = attn.broadcast %x : tensor<?x4xf32> -> tensor<4xf32>
  return
}

// -----

// F2
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected 'like' for the axes that the operand lacks}}
  %0 = attn.broadcast %b : tensor<3xf32> -> tensor<?x3xf32>
  return
}

// -----

// F2
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected no 'like', because the operand has all axes of the result}}
  %0 = attn.broadcast %x like(%x : tensor<?x4xf32>) : tensor<?x4xf32> -> tensor<?x4xf32>
  return
}

// -----

// F2
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected 'like' with the axes of 'tensor<?x3xf32>', but got 'tensor<?x?x6xf32>'}}
  %0 = attn.broadcast %b like(%y : tensor<?x?x6xf32>) : tensor<3xf32> -> tensor<?x3xf32>
  return
}

// -----

// F3
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a result of type 'tensor<?x4xf32>', but got 'tensor<?x5xf32>'}}
  %0 = attn.embed %t, %p : tensor<?xi32>, tensor<5x4xf32> -> tensor<?x5xf32>
  return
}

// -----

// F3
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected tokens without features and a table without axes, but got 'tensor<?xi32>' and 'tensor<?x4xf32>'}}
  %0 = attn.embed %t, %x : tensor<?xi32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return
}

// -----

// F4
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a result of type 'tensor<?x4xf32>', but got 'tensor<?xf32>'}}
  %0 = attn.lookup %p[%t] : tensor<5x4xf32>, tensor<?xi32> -> tensor<?xf32>
  return
}

// -----

// F5
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a weight whose last dimensions are the features of 'tensor<?x?x6xf32>', but got 'tensor<3x4xf32>'}}
  %0 = attn.linear %y, %w : tensor<?x?x6xf32>, tensor<3x4xf32> -> tensor<?x?x3xf32>
  return
}

// -----

// F6
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a bias of type 'tensor<3xf32>', but got 'tensor<3x4xf32>'}}
  %0 = attn.linear %x, %w bias(%w : tensor<3x4xf32>) : tensor<?x4xf32>, tensor<3x4xf32> -> tensor<?x3xf32>
  return
}

// -----

// F7
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a weight and a bias without axes}}
  %0 = attn.linear %x, %x : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?xf32>
  return
}

// -----

// F8
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a result of type 'tensor<?xf32>', but got 'tensor<?x4xf32>'}}
  %0 = attn.dot %x, %x : tensor<?x4xf32> -> tensor<?x4xf32>
  return
}

// -----

// F9
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected operands on the same axes, but got 'tensor<?x4xf32>' and 'tensor<3xf32>'}}
  %0 = attn.outer %x, %b : tensor<?x4xf32>, tensor<3xf32> -> tensor<?x4x3xf32>
  return
}

// -----

// F9
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected features of the right operand, without the last, that are a prefix of the left's, but got 'tensor<3xf32>' and 'tensor<5x4xf32>'}}
  %0 = attn.outer %b, %p : tensor<3xf32>, tensor<5x4xf32> -> tensor<3x4xf32>
  return
}

// -----

// F10
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected operands that agree in all but the last feature, but got 'tensor<?x4xf32>' and 'tensor<?x?x6xf32>'}}
  %0 = attn.concat %x, %y : tensor<?x4xf32>, tensor<?x?x6xf32> -> tensor<?x10xf32>
  return
}

// -----

// F11
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a range within the first feature of 'tensor<?x4xf32>', but got [2 : 5]}}
  %0 = attn.slice %x[2 : 5] : tensor<?x4xf32> -> tensor<?x3xf32>
  return
}

// -----

// F11
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a range of one element of the first feature to drop, but got [0 : 2]}}
  %0 = attn.slice %x[0 : 2] drop : tensor<?x4xf32> -> tensor<?xf32>
  return
}

// -----

// F10
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a feature of 'tensor<?x4xf32>', but got number 1}}
  %0 = attn.concat %x, %x feature 1 : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x8xf32>
  return
}

// -----

// F10
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected operands that agree in all but one feature, but got 'tensor<3x4xf32>' and 'tensor<3xf32>'}}
  %0 = attn.concat %w, %b feature 0 : tensor<3x4xf32>, tensor<3xf32> -> tensor<6x4xf32>
  return
}

// -----

// F11
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a feature of 'tensor<?x4xf32>', but got number 1}}
  %0 = attn.slice %x[0 : 2] feature 1 : tensor<?x4xf32> -> tensor<?x2xf32>
  return
}

// -----

// F11
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a range of one element of the first feature to drop, but got [0 : 1]}}
  %0 = attn.slice %w[0 : 1] feature 1 drop : tensor<3x4xf32> -> tensor<3xf32>
  return
}

// -----

// F16
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected matrices without axes that can be multiplied, but got 'tensor<?x4xf32>' and 'tensor<3x4xf32>'}}
  %0 = attn.matmul %x, %w transposed : tensor<?x4xf32>, tensor<3x4xf32> -> tensor<3xf32>
  return
}

// -----

// F16
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected matrices without axes that can be multiplied, but got 'tensor<5x4xf32>' and 'tensor<3x4xf32>'}}
  %0 = attn.matmul %p, %w : tensor<5x4xf32>, tensor<3x4xf32> -> tensor<5x4xf32>
  return
}

// -----

// F16
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a result of type 'tensor<5x3xf32>', but got 'tensor<5x4xf32>'}}
  %0 = attn.matmul %p, %w transposed : tensor<5x4xf32>, tensor<3x4xf32> -> tensor<5x4xf32>
  return
}

// -----

// F17
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected an epilogue over values of type 'tensor<?x3xf32>', with or without axes, but got 'tensor<?x4xf32>'}}
  %0 = attn.linear %x, %w epilogue(%x : tensor<?x4xf32>) {
  ^bb0(%s: f32, %e: f32):
    attn.yield %s : f32
  } : tensor<?x4xf32>, tensor<3x4xf32> -> tensor<?x3xf32>
  return
}

// -----

// F18
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected an epilogue of 2 arguments of type f32}}
  %0 = attn.linear %x, %w epilogue(%b : tensor<3xf32>) {
  ^bb0(%s: f32):
    attn.yield %s : f32
  } : tensor<?x4xf32>, tensor<3x4xf32> -> tensor<?x3xf32>
  return
}

// -----

// F18
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected an epilogue that yields one f32}}
  %0 = attn.linear %x, %w epilogue(%b : tensor<3xf32>) {
  ^bb0(%s: f32, %e: f32):
    attn.yield %s, %e : f32, f32
  } : tensor<?x4xf32>, tensor<3x4xf32> -> tensor<?x3xf32>
  return
}

// -----

// F18
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected an epilogue of elementwise operations on scalars}}
  %0 = attn.linear %x, %w epilogue() {
  ^bb0(%s: f32):
    // expected-note @below {{'attn.linear' is not}}
    %1 = attn.linear %s, %s : f32, f32 -> f32
    attn.yield %1 : f32
  } : tensor<?x4xf32>, tensor<3x4xf32> -> tensor<?x3xf32>
  return
}

// -----

// F12
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected pieces that divide the last feature of 'tensor<?x4xf32>', but got 3}}
  %0 = attn.maxout %x pieces 3 : tensor<?x4xf32> -> tensor<?x1xf32>
  return
}

// -----

func.func @f(%x: tensor<?x?xf32>, %t: tensor<?x?xi32>, %b: tensor<?x?xf32>, %f: i32) {
  // expected-error @below {{expected sums of type 'tensor<?x2xf32>', but got 'tensor<?x3xf32>'}}
  %0:3 = attn.rank %x among(%t, %b : tensor<?x?xi32>, tensor<?x?xf32>) from(%f : i32) : tensor<?x?xf32> -> tensor<?x3xf32>
  return
}

// -----

// F13
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a parameter of type 'tensor<4xf32>', but got 'tensor<3xf32>'}}
  %0 = attn.layer_norm %x weight(%b : tensor<3xf32>) bias(%b : tensor<3xf32>) epsilon 1.0e-5 : tensor<?x4xf32> -> tensor<?x4xf32>
  return
}

// -----

// F13
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a parameter of type 'tensor<4xf32>', but got 'tensor<3xf32>'}}
  %0 = attn.rms_norm %x weight(%b : tensor<3xf32>) epsilon 1.0e-5 : tensor<?x4xf32> -> tensor<?x4xf32>
  return
}

// -----

// F14
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a position without features and a result that appends one even feature, but got 'tensor<?xi32>' and 'tensor<?x3xf32>'}}
  %0 = attn.sinusoid %t halves steps 2.0 : tensor<?xi32> -> tensor<?x3xf32>
  return
}

// -----

// F15
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected an even last feature and a position without features, but got 'tensor<?x?x6xf32>' and 'tensor<?xi32>'}}
  %0 = attn.rotary %y position(%t : tensor<?xi32>) halves base 1.0e4 : tensor<?x?x6xf32> -> tensor<?x?x6xf32>
  return
}

// -----

// S1
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a sequence, but got 'tensor<?x4xf32>'}}
  %0 = attn.reverse %x lengths(%n) : tensor<?x4xf32> -> tensor<?x4xf32>
  return
}

// -----

// S2
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a result of type 'tensor<?x6xf32>', but got 'tensor<?x?x6xf32>'}}
  %0 = attn.first %y lengths(%n) : tensor<?x?x6xf32> -> tensor<?x?x6xf32>
  return
}

// -----

// S2
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a result of type 'tensor<?x6xf32>', but got 'tensor<?x?x6xf32>'}}
  %0 = attn.last %y lengths(%n) : tensor<?x?x6xf32> -> tensor<?x?x6xf32>
  return
}

// -----

// S2
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a result of type 'tensor<?x6xf32>', but got 'tensor<?x?x6xf32>'}}
  %0 = attn.mean %y lengths(%n) : tensor<?x?x6xf32> -> tensor<?x?x6xf32>
  return
}

// -----

// S3
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a result of type 'tensor<?x?x12xf32>', but got 'tensor<?x?x6xf32>'}}
  %0 = attn.pairs %y lengths(%n) : tensor<?x?x6xf32> -> tensor<?x?x6xf32>
  return
}

// -----

// S4
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a positive stride, but got 0}}
  %0 = attn.strided_length %n stride 0
  return
}

// -----

// S5
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a weight [N, X, width] and a bias [N] for an input of 6 features, but got 'tensor<3x4xf32>' and 'tensor<3xf32>'}}
  %0 = attn.conv1d %y lengths(%n) weight(%w : tensor<3x4xf32>) bias(%b : tensor<3xf32>) stride 1 : tensor<?x?x6xf32> -> tensor<?x?x3xf32>
  return
}

// -----

// S6
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a result of type 'tensor<?x?xi32>', but got 'tensor<?xi32>'}}
  %0 = attn.position %y : tensor<?x?x6xf32> -> tensor<?xi32>
  return
}

// -----

// S7
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a value with a row axis, but got 'tensor<3x4xf32>'}}
  %0 = attn.to_rows %w rows(%n) : tensor<3x4xf32>
  return
}

// -----

// S8
attn.model @m {
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  attn.decoder vocabulary @v memories [] axes [] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %l = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    // expected-error @below {{expected one value per row and a result of type 'tensor<?x?x5xf32>', but got 'tensor<?x5xf32>' and 'tensor<?x5xf32>'}}
    %0 = attn.past %l : tensor<?x5xf32> -> tensor<?x5xf32>
    attn.predict %l : tensor<?x5xf32>
  }
}

// -----

// S9
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a body of the inputs at one position and the states, that is ('tensor<?x6xf32>', 'tensor<?x2xf32>'), but got ('tensor<?x6xf32>', 'tensor<?x3xf32>')}}
  %0 = attn.scan %y : tensor<?x?x6xf32> lengths(%n) {
  ^bb0(%a: tensor<?x6xf32>, %s: tensor<?x3xf32>):
    attn.yield %s : tensor<?x3xf32>
  } -> tensor<?x?x2xf32>
  return
}

// -----

// S9
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a body that yields the states ('tensor<?x2xf32>'), but got ('tensor<?x6xf32>')}}
  %0 = attn.scan %y : tensor<?x?x6xf32> lengths(%n) {
  ^bb0(%a: tensor<?x6xf32>, %s: tensor<?x2xf32>):
    attn.yield %a : tensor<?x6xf32>
  } -> tensor<?x?x2xf32>
  return
}

// -----

// S9
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected initial states ('tensor<?x6xf32>'), but got ('tensor<?x4xf32>')}}
  %0 = attn.scan %y : tensor<?x?x6xf32> lengths(%n) initial(%x : tensor<?x4xf32>) {
  ^bb0(%a: tensor<?x6xf32>, %s: tensor<?x6xf32>):
    attn.yield %a : tensor<?x6xf32>
  } -> tensor<?x?x6xf32>
  return
}

// -----

// S10
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x6xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a sequence, but got 'tensor<?x4xf32>'}}
  %0 = attn.scan %x : tensor<?x4xf32> lengths(%n) {
  ^bb0(%a: tensor<4xf32>, %s: tensor<?x6xf32>):
    attn.yield %s : tensor<?x6xf32>
  } -> tensor<?x?x6xf32>
  return
}

// -----

// C1, R12
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x4xf32>, %h: tensor<?x2xf32>, %wi: tensor<6x4xf32>, %wh: tensor<6x2xf32>, %b: tensor<6xf32>, %w4: tensor<8x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected weight_ih of type 'tensor<6x4xf32>', but got 'tensor<8x4xf32>'}}
  %0 = attn.gru_cell %x, %h reset after weights(%w4, %wh, %b, %b : tensor<8x4xf32>, tensor<6x2xf32>, tensor<6xf32>, tensor<6xf32>) : tensor<?x4xf32>, tensor<?x2xf32> -> tensor<?x2xf32>
  return
}

// -----

// C1, R12
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x4xf32>, %h: tensor<?x2xf32>, %wi: tensor<6x4xf32>, %wh: tensor<6x2xf32>, %b: tensor<6xf32>, %w4: tensor<8x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected weight_hh of type 'tensor<6x2xf32>', but got 'tensor<6x4xf32>'}}
  %0 = attn.gru %y lengths(%n) reset before weights(%wi, %wi, %b, %b : tensor<6x4xf32>, tensor<6x4xf32>, tensor<6xf32>, tensor<6xf32>) : tensor<?x?x4xf32> -> tensor<?x?x2xf32>
  return
}

// -----

// C1
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x4xf32>, %h: tensor<?x2xf32>, %wi: tensor<6x4xf32>, %wh: tensor<6x2xf32>, %b: tensor<6xf32>, %w4: tensor<8x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a result of type 'tensor<?x2xf32>', but got 'tensor<?x?x2xf32>'}}
  %0 = attn.gru_cell %x, %h reset after weights(%wi, %wh, %b, %b : tensor<6x4xf32>, tensor<6x2xf32>, tensor<6xf32>, tensor<6xf32>) : tensor<?x4xf32>, tensor<?x2xf32> -> tensor<?x?x2xf32>
  return
}

// -----

// C1
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x4xf32>, %h: tensor<?x2xf32>, %wi: tensor<6x4xf32>, %wh: tensor<6x2xf32>, %b: tensor<6xf32>, %w4: tensor<8x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected a sequence, but got 'tensor<?x4xf32>'}}
  %0 = attn.gru %x lengths(%n) reset after weights(%wi, %wh, %b, %b : tensor<6x4xf32>, tensor<6x2xf32>, tensor<6xf32>, tensor<6xf32>) : tensor<?x4xf32> -> tensor<?x2xf32>
  return
}

// -----

// C2, R12
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x4xf32>, %h: tensor<?x2xf32>, %wi: tensor<6x4xf32>, %wh: tensor<6x2xf32>, %b: tensor<6xf32>, %w4: tensor<8x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected weight_ih of type 'tensor<8x4xf32>', but got 'tensor<6x4xf32>'}}
  %0:2 = attn.lstm_cell %x, %h, %h weights(%wi, %wh, %b, %b : tensor<6x4xf32>, tensor<6x2xf32>, tensor<6xf32>, tensor<6xf32>) : tensor<?x4xf32>, tensor<?x2xf32>, tensor<?x2xf32> -> tensor<?x2xf32>, tensor<?x2xf32>
  return
}

// -----

// C2, R12
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x4xf32>, %h: tensor<?x2xf32>, %wi: tensor<6x4xf32>, %wh: tensor<6x2xf32>, %b: tensor<6xf32>, %w4: tensor<8x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected weight_ih of type 'tensor<8x4xf32>', but got 'tensor<6x4xf32>'}}
  %0:2 = attn.lstm %y lengths(%n) weights(%wi, %wh, %b, %b : tensor<6x4xf32>, tensor<6x2xf32>, tensor<6xf32>, tensor<6xf32>) : tensor<?x?x4xf32> -> tensor<?x?x2xf32>, tensor<?x?x2xf32>
  return
}

// -----

// C3, R12
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x4xf32>, %h: tensor<?x2xf32>, %wi: tensor<6x4xf32>, %wh: tensor<6x2xf32>, %b: tensor<6xf32>, %w4: tensor<8x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected weight_ih of type 'tensor<2x4xf32>', but got 'tensor<6x4xf32>'}}
  %0 = attn.rnn_cell %x, %h weights(%wi, %wh, %b, %b : tensor<6x4xf32>, tensor<6x2xf32>, tensor<6xf32>, tensor<6xf32>) : tensor<?x4xf32>, tensor<?x2xf32> -> tensor<?x2xf32>
  return
}

// -----

// C3, R12
func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x?x4xf32>, %h: tensor<?x2xf32>, %wi: tensor<6x4xf32>, %wh: tensor<6x2xf32>, %b: tensor<6xf32>, %w4: tensor<8x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{expected weight_ih of type 'tensor<2x4xf32>', but got 'tensor<6x4xf32>'}}
  %0 = attn.rnn %y lengths(%n) weights(%wi, %wh, %b, %b : tensor<6x4xf32>, tensor<6x2xf32>, tensor<6xf32>, tensor<6xf32>) : tensor<?x?x4xf32> -> tensor<?x?x2xf32>
  return
}
