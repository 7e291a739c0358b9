#include "workload/described_net.hpp"

#include "workload/catalogue.hpp"
#include "workload/convnet.hpp"

namespace roofcast {

namespace {

toml::array node_of(const std::vector<std::string>& names) {
    toml::array list;
    for (const std::string& name : names) list.push_back(name);
    return list;
}

template <class Value>
const Value& node_of(const Value& value) {
    return value;
}

}  // namespace

void DescribedNet::put(toml::table& table, const Key& key) {
    std::visit([&](const auto& value) { table.insert_or_assign(key.name, node_of(value)); }, key.value);
}

void DescribedNet::add(std::initializer_list<Key> layer) {
    toml::table table;
    for (const Key& key : layer) put(table, key);
    layers_.push_back(std::move(table));
}

ConvNet DescribedNet::read() && {
    keys_.insert_or_assign("layers", std::move(layers_));
    TableReader reader(keys_, file_);
    BlockLibrary blocks = blocks_for(file_);
    ConvNet net = read_convnet(reader, blocks);
    reader.finish();
    return net;
}

}  // namespace roofcast
