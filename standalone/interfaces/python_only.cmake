# Leaves out the C++ generators, about half of the compile time: Python needs C only.
# Introspection stays: rmw_fastrtps looks it up for every endpoint and complains where it is missing.
find_package(ament_cmake_core REQUIRED)

set(PYTHON_ONLY_GENERATORS rosidl_generator_type_description rosidl_generator_c rosidl_typesupport_fastrtps_c
  rosidl_typesupport_introspection_c rosidl_typesupport_c rosidl_generator_py)

# Every generator package that find_package meets registers itself through this macro.
macro(ament_register_extension extension_point package_name cmake_filename)
  if(NOT "${extension_point}" STREQUAL "rosidl_generate_idl_interfaces"
     OR "${package_name}" IN_LIST PYTHON_ONLY_GENERATORS)
    _ament_register_extension(${extension_point} ${package_name} ${cmake_filename})
  endif()
endmacro()
