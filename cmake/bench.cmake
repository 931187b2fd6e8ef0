# tandem_bench: our ops beside the libraries called directly.
file(GLOB BENCH_SOURCES CONFIGURE_DEPENDS bench/*.cc)
if(BENCH_SOURCES)
  add_executable(tandem_bench ${BENCH_SOURCES})
  target_include_directories(tandem_bench PRIVATE ${OPENBLAS_INCLUDE})
  # The reference OpenBLAS, with threads of its own, is loaded at run time.
  target_link_libraries(tandem_bench PRIVATE tandem ${DNNL_LIBRARY} ${OPENBLAS_LIBRARY} ${GOMP_LIBRARY} nlohmann_json::nlohmann_json ${CMAKE_DL_LIBS})
  precompile_standard_headers(tandem_bench)
endif()

# tandem_peer_worker: the C++ column of scripts/bench --peers.
file(GLOB PEER_SOURCES CONFIGURE_DEPENDS bench/peers/*.cc)
if(PEER_SOURCES)
  add_executable(tandem_peer_worker ${PEER_SOURCES} bench/limits.cc bench/child.cc)
  target_link_libraries(tandem_peer_worker PRIVATE tandem nlohmann_json::nlohmann_json)
endif()
