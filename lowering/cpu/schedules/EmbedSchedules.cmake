# Writes FILES as lines that ScheduleKernels.cpp includes.

set(lines "")
foreach(file ${FILES})
  file(READ ${file} text)
  get_filename_component(folder ${file} DIRECTORY)
  get_filename_component(instructions ${folder} NAME)
  get_filename_component(name ${file} NAME)
  string(APPEND lines
    "{\"${instructions}\", \"${instructions}/${name}\", R\"mlir(${text})mlir\"},\n")
endforeach()
file(WRITE ${OUTPUT} "${lines}")
